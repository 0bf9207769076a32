"""The script of the page: a cursor that shows the numbers of all plots of a section at the pointer's time.

The page is complete without it. It writes texts with `textContent` only, so no name becomes markup.
"""

from __future__ import annotations

CURSOR = r"""
(()=>{'use strict';
const NS='http://www.w3.org/2000/svg',num=new Intl.NumberFormat('en-US',{maximumFractionDigits:2});
const two=n=>String(n).padStart(2,'0');
const clock=s=>{const d=Math.floor(s/86400),r=Math.floor(s%86400);
return (d?d+'d ':'')+Math.floor(r/3600)+':'+two(Math.floor(r/60)%60)+':'+two(r%60)};
const parse=plot=>{const [unit,...list]=plot.dataset.read.split(';');
return {unit,series:list.map(one=>{const at=one.indexOf('=');
return {name:one.slice(0,at),values:one.slice(at+1).split(',')}})}};
const cell=(plot,f,y)=>{const rows=plot.dataset.cells.split(' '),cols=rows[0].length/2,
c=Math.min(cols-1,Math.floor(f*cols)),r=Math.max(0,Math.min(rows.length-1,Math.floor(y*rows.length))),
pair=rows[r].slice(2*c,2*c+2);
if(pair==='--')return '';
let v=parseInt(pair,36),no=false;if(v>647){v-=648;no=true}
const names=plot.dataset.parts.split(';').map(p=>p.split(',')).filter(p=>
c>=+p[1]&&p[2]>c&&r>=+p[3]&&p[4]>r).map(p=>p[0]);
return names.slice(0,3).join(', ')+(names.length>3?' and '+(names.length-3)+' more':'')+'  '+v+' %'+
(no?', throttling':'')};
const say=(plot,f,y)=>{const ago=plot.dataset.ago!==undefined,
at=clock((ago?1-f:f)*plot.dataset.span)+(ago?' ago':'');
if(plot.dataset.cells!==undefined)return y===null?'':at+'  '+cell(plot,f,y);
const {unit,series}=plot.parsed||(plot.parsed=parse(plot));
return at+'  '+series.map(s=>{const v=s.values[Math.min(s.values.length-1,Math.floor(f*s.values.length))];
return v===undefined||v===''?null:s.name+' '+num.format(v)}).filter(x=>x).join(' · ')+(unit?' '+unit:'')};
const lineOf=plot=>{let line=plot.querySelector('.cursor');if(!line){line=document.createElementNS(NS,'line');
line.setAttribute('class','cursor');plot.querySelector('svg').append(line)}return line};
const show=(plot,f,y)=>{const svg=plot.querySelector('svg'),box=svg.viewBox.baseVal,line=lineOf(plot),
x=+plot.dataset.left+f*plot.dataset.inner;
line.setAttribute('x1',x);line.setAttribute('x2',x);line.setAttribute('y1',8);line.setAttribute('y2',box.height-18);
line.style.display='';plot.parentNode.querySelector('.reading').textContent=say(plot,f,y)};
const hide=plot=>{const line=plot.querySelector('.cursor');if(line)line.style.display='none';
plot.parentNode.querySelector('.reading').textContent=''};
const group=plot=>{const home=plot.closest('.together')||plot.parentNode;
return home.querySelectorAll('.plot[data-span]')};
document.addEventListener('pointermove',event=>{const plot=event.target.closest?.('.plot[data-span]');
document.querySelectorAll('.plot.lit').forEach(other=>{if(!plot||![...group(plot)].includes(other)){
other.classList.remove('lit');hide(other)}});
if(!plot)return;
const svg=plot.querySelector('svg'),rect=svg.getBoundingClientRect(),box=svg.viewBox.baseVal,
k=box.width/rect.width,x=(event.clientX-rect.left)*k,y=(event.clientY-rect.top)*k;
const f=Math.max(0,Math.min(.999999,(x-plot.dataset.left)/plot.dataset.inner));
for(const other of group(plot)){other.classList.add('lit');
show(other,f,other===plot&&plot.dataset.top!==undefined?(y-plot.dataset.top)/plot.dataset.tall:null)}
},{passive:true});
})();
"""
