"""The style sheet. It has no `<` and no `&`, so that a page is XML too."""

from __future__ import annotations

# The colours of the report, which the console has too: `no` is throttled, u0 to u9 are use.
LIGHT = """
--paper:#fffefa;--ink:#1d1d1b;--soft:#66645c;--hair:#e3e0d5;--rule:#b9b5a7;--rail:#edeae0;
--use:#2f6699;--peak:#bcd0e2;--ask:#8a8578;--limit:#1d1d1b;--want:#8a5a00;
--no:#d55e00;--range:#a8467f;--max:#d99a00;--account:#5b5b5b;--good:#00694d;
--u0:#f4f2ea;--u1:#dfe8ef;--u2:#c9d9e6;--u3:#b1c9de;--u4:#96b7d4;--u5:#79a3c9;--u6:#5c8dbb;--u7:#4075aa;
--u8:#265b93;--u9:#0c3b73;--between:#fffefa;--split:#1d1d1b;
"""
DARK = """
--paper:#161613;--ink:#e9e6da;--soft:#a5a195;--hair:#302f2a;--rule:#57544a;--rail:#2a2924;
--use:#6ba3d6;--peak:#2c465e;--ask:#8f8a7d;--limit:#e9e6da;--want:#e0b050;
--no:#f07a24;--range:#d987b6;--max:#f0b93a;--account:#a9a9a9;--good:#4fc59c;
--u0:#1f1f1b;--u1:#22303d;--u2:#263c50;--u3:#2b4964;--u4:#325879;--u5:#3c698f;--u6:#4a7da8;--u7:#6095c0;
--u8:#83b3d9;--u9:#b7dbf5;--between:#161613;--split:#e9e6da;
"""

STYLE = f"""
:root{{{LIGHT}}}
@media (prefers-color-scheme:dark){{:root{{{DARK}}}}}
@media print{{:root{{{LIGHT}--paper:#fff}}}}
*{{box-sizing:border-box}}
html{{background:var(--paper);color:var(--ink);-webkit-print-color-adjust:exact;print-color-adjust:exact}}
body{{margin:0;font:16px/1.5 Charter,"Bitstream Charter","Iowan Old Style",Palatino,"Palatino Linotype",
Georgia,"DejaVu Serif",serif;text-rendering:optimizeLegibility}}
main{{max-width:62rem;margin:0 auto;padding:2.5rem 1.5rem 4rem}}
h1{{font-size:1.05rem;font-weight:400;font-style:italic;color:var(--soft);margin:0 0 .6rem;
overflow-wrap:anywhere}}
h2{{font-size:1.45rem;font-weight:400;line-height:1.25;margin:3.2rem 0 .4rem;padding-top:.7rem;
border-top:1px solid var(--rule);overflow-wrap:anywhere}}
h3{{font-size:1.15rem;font-weight:400;font-style:italic;margin:2.2rem 0 .3rem;overflow-wrap:anywhere}}
h4{{font-size:1rem;font-weight:600;margin:1.8rem 0 .2rem}}
p{{margin:.4rem 0 .8rem;max-width:44rem;overflow-wrap:anywhere}}
.verdict{{font-size:1.75rem;line-height:1.25;margin:.2rem 0 1rem;max-width:52rem}}
.verdict b{{font-weight:600}}
.holds b,.ok{{color:var(--good)}}
.fails b,.mark,.broken{{color:var(--no)}}
.change{{font-size:1.15rem;max-width:52rem;margin:0 0 1rem}}
.soft,.note,small{{color:var(--soft)}}
ul{{margin:.3rem 0 1rem;padding-left:1.2rem;max-width:46rem}}
li{{margin:.25rem 0;overflow-wrap:anywhere}}
a{{color:inherit;text-decoration-color:var(--rule)}}
nav ul{{list-style:none;padding:0;columns:2}}nav li{{margin:0}}
code,.key{{font:.86em/1.4 ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;
overflow-wrap:break-word}}
.key{{display:block;width:max-content;max-width:16rem}}
dl{{display:flex;flex-wrap:wrap;gap:.4rem 1.6rem;margin:.8rem 0 1.2rem}}
dl div{{max-width:100%}}
dt{{font-size:.82rem;color:var(--soft)}}
dd{{margin:0;font-size:.95rem;font-variant-numeric:tabular-nums lining-nums;overflow-wrap:anywhere}}
.wide{{overflow-x:auto;margin:.8rem 0 1.4rem}}
table{{border-collapse:collapse;font-size:.88rem;line-height:1.35}}
caption{{text-align:left;font-weight:600;padding:0 0 .3rem}}
th,td{{padding:.22rem .9rem .22rem 0;vertical-align:baseline;
border-bottom:1px solid var(--hair);font-weight:400}}
thead th{{padding-top:0;vertical-align:bottom;border-bottom:1px solid var(--rule);
color:var(--soft);font-size:.82rem}}
th small{{display:block;font-size:.74rem}}
.n{{text-align:right;font-variant-numeric:tabular-nums lining-nums;white-space:nowrap}}
thead .n{{white-space:normal;max-width:9rem}}
.t{{text-align:left;overflow-wrap:break-word}}
td.t{{max-width:28rem}}
tr.best th,tr.best .n{{font-weight:600}}
tr:not(.bad) b.mark{{color:inherit}}
.over th,.over td{{border-bottom:0;padding-bottom:0}}
.under td{{color:var(--soft);font-size:.82rem;padding-top:0}}
td.t:last-child{{min-width:8rem}}
.under td.t{{max-width:none}}
.more{{color:var(--soft);font-style:italic}}
figure{{margin:1.3rem 0;break-inside:avoid}}
figcaption{{font-size:.88rem;line-height:1.35;margin:0 0 .15rem;min-height:1.35em}}
figcaption b{{font-weight:600;margin-right:.7em}}
figcaption .note{{display:block;max-width:46rem}}
.reading{{font-variant-numeric:tabular-nums lining-nums;color:var(--use)}}
.plot{{overflow-x:auto}}
.plot>svg{{display:block;width:100%;min-width:38rem;height:auto}}
svg text{{font:11px "Helvetica Neue",Helvetica,Arial,"Liberation Sans","DejaVu Sans",sans-serif;
fill:var(--soft);font-variant-numeric:tabular-nums}}
svg path,svg rect{{stroke:none}}
.tm{{text-anchor:middle}}.tv{{text-anchor:end}}.last{{text-anchor:end}}
svg .hair{{stroke:var(--hair);stroke-width:1;fill:none}}
svg .tick{{stroke:var(--rule);stroke-width:1;fill:none}}
.use{{fill:var(--use)}}.peak{{fill:var(--peak)}}.burst{{fill:var(--peak)}}
svg path.ask{{fill:none;stroke:var(--ask);stroke-width:1;stroke-dasharray:2 2}}
svg path.limit{{fill:none;stroke:var(--limit);stroke-width:1.5}}
svg path.want{{fill:none;stroke:var(--want);stroke-width:1.5;stroke-dasharray:5 2}}
svg path.rule{{fill:none;stroke:var(--rule);stroke-width:1}}
.debt,.no{{fill:var(--no)}}.c2{{fill:var(--no)}}.c3{{fill:var(--range)}}
.c1{{fill:var(--max)}}.c0{{fill:var(--account)}}
svg text.use{{fill:var(--use)}}
svg text.peak,svg text.ask{{fill:var(--soft)}}svg text.limit{{fill:var(--limit)}}
svg text.want{{fill:var(--want)}}
.u0{{fill:var(--u0)}}.u1{{fill:var(--u1)}}.u2{{fill:var(--u2)}}.u3{{fill:var(--u3)}}.u4{{fill:var(--u4)}}
.u5{{fill:var(--u5)}}.u6{{fill:var(--u6)}}.u7{{fill:var(--u7)}}.u8{{fill:var(--u8)}}.u9{{fill:var(--u9)}}
svg .between{{stroke:var(--between);stroke-width:1;fill:none}}
svg .split{{stroke:var(--split);stroke-width:1.5;fill:none}}
svg .thread{{stroke:var(--rule);stroke-width:.75;fill:none}}
.flag{{fill:var(--soft)}}.flag.up{{fill:var(--limit)}}.flag.down{{fill:var(--use)}}.flag.bad{{fill:var(--no)}}
svg .cursor{{stroke:var(--ink);stroke-width:.75}}
.spark{{vertical-align:baseline;margin-left:.5rem}}
.rail{{fill:var(--rail)}}.bar{{fill:var(--use)}}.bar.best{{fill:var(--good)}}
details{{margin:.6rem 0 1.2rem}}
summary{{cursor:pointer;color:var(--soft);font-size:.9rem}}
footer{{margin-top:3.5rem;padding-top:.7rem;border-top:1px solid var(--rule);
font-size:.85rem;color:var(--soft)}}
@media print{{body{{font-size:10.5pt}}main{{max-width:none;padding:0}}h2,h3,h4{{break-after:avoid}}
tr{{break-inside:avoid}}.over{{break-after:avoid}}
.wide,.plot{{overflow:visible}}table{{font-size:.74rem}}
th,td{{padding-right:.55rem}}td .spark{{display:none}}
nav,.reading{{display:none}}}}
@media print{{details:not([open])>*:not(summary){{display:block}}}}
@media print{{details::details-content{{content-visibility:visible;height:auto}}}}
"""
