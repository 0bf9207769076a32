"""Charts as text: SVG and HTML made by small functions from plain numbers. Pure, no dependency.

The report of `faradisc plan` and the console of the server draw with the same functions. Equal input gives
equal bytes: no identifiers, no moments, numbers rounded to a tenth of a pixel. Reading order:

    markup     elements, escaping
    words      numbers, durations and byte counts as people read them
    buckets    many points made few, no peak lost
    axes       ticks, scales, the frame of a plot over time
    plots      areas, steps, lines, stacks, marks
    heatmap    a key space over time: rows that divide where partitions do
    tables     tables of numbers
    page       the whole page: style sheet and the script of the cursor
"""
