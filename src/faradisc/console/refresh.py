"""The script that updates a page: it fetches the page again and replaces its `main`.

The new elements come from a parsed document, in which scripts do not run. Nothing is fetched while the page
is hidden, text is selected, or the pointer is over a plot.
"""

from __future__ import annotations

EVERY_MS = 2000

REFRESH = (
    r"""
(()=>{'use strict';
const busy=()=>document.hidden||document.querySelector('.plot.lit')||String(getSelection())!=='';
const opened=()=>[...document.querySelectorAll('details')].map(one=>one.open);
const stale=text=>{const note=document.querySelector('.live');if(note)note.textContent=text};
const turn=async()=>{if(!busy()){try{const answer=await fetch(location.href,{cache:'no-store'});
if(!answer.ok)throw new Error(String(answer.status));
const fresh=new DOMParser().parseFromString(await answer.text(),'text/html').querySelector('main');
const were=opened();document.querySelector('main').replaceWith(fresh);
document.querySelectorAll('details').forEach((one,i)=>{one.open=Boolean(were[i])})}
catch(error){stale('The server does not answer; the data is old.')}}
setTimeout(turn,"""
    + str(EVERY_MS)
    + r""")};
setTimeout(turn,"""
    + str(EVERY_MS)
    + r""");
})();
"""
)
