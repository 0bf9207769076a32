"""Charts as text: SVG and HTML made by small pure functions from plain numbers.

The report of `faradisc plan` and the console of the server draw with the same functions. Equal input gives
equal bytes: no identifiers, no dates, numbers rounded to a tenth of a pixel. Reading order:

    markup     elements; MarkupSafe escapes them
    words      numbers, durations and byte counts for people
    buckets    many points reduced to few, no peak lost
    axes       ticks, scales, the frame of a plot over time
    plots      areas, steps, lines, stacks, marks
    heatmap    the key space over time: a row divides where a partition splits
    tables     tables of numbers
    page       the whole page: style sheet and the script of the cursor
"""
