// What the charts share: their width, and marks that show their figures under the pointer and to the keyboard. A chart
// is one stop of the tab key; arrow keys go from mark to mark.
import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

export function useWidth(fallback = 640): [RefObject<HTMLDivElement | null>, number] {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(fallback);
  useLayoutEffect(() => {
    const element = box.current!;
    const measure = () => setWidth(Math.max(240, Math.floor(element.clientWidth)));
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return [box, width];
}

interface Shown {
  index: number;
  x: number;
  y: number;
}

export interface Marks {
  item(index: number): string; // class of the group around a mark and what it stands for
  props(index: number): Record<string, unknown>; // of the shape that the pointer and the focus meet; it has no text in it
  tooltip: ComponentChildren;
}

export function useMarks(labels: string[], box: RefObject<HTMLDivElement | null>, onPick?: (index: number) => void, picked?: number): Marks {
  const [active, setActive] = useState(0);
  const [shown, setShown] = useState<Shown>();
  useEffect(() => setShown(undefined), [labels.join('\n')]);
  const show = (index: number, element: Element) => {
    const mark = element.getBoundingClientRect(), frame = box.current!.getBoundingClientRect();
    const x = Math.min(Math.max(mark.left + mark.width / 2 - frame.left, 70), Math.max(70, frame.width - 70));
    setShown({ index, x, y: mark.top - frame.top });
  };
  const move = (event: KeyboardEvent, index: number) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const to = event.key === 'Home' ? 0 : event.key === 'End' ? labels.length - 1 : by === undefined ? index : index + by;
    if (event.key === 'Escape') setShown(undefined);
    if ((event.key === 'Enter' || event.key === ' ') && onPick) {
      event.preventDefault();
      onPick(index);
    }
    if (to === index || to < 0 || to >= labels.length) return;
    event.preventDefault();
    setActive(to);
    box.current!.querySelector<SVGElement>(`[data-mark="${to}"]`)?.focus();
  };
  const focusable = Math.min(active, Math.max(0, labels.length - 1));
  return {
    item: (index) => (picked === index ? 'item picked' : 'item'),
    props: (index) => ({
      'data-mark': index,
      class: 'mark',
      tabindex: index === focusable ? 0 : -1, // attributes of SVG keep their case
      role: onPick ? 'button' : 'img',
      ...(onPick ? { 'aria-pressed': picked === index } : {}),
      'aria-label': labels[index],
      onFocus: (event: FocusEvent) => {
        setActive(index);
        show(index, event.currentTarget as Element);
      },
      onBlur: () => setShown(undefined),
      onMouseEnter: (event: MouseEvent) => show(index, event.currentTarget as Element),
      onMouseLeave: () => setShown(undefined),
      onKeyDown: (event: KeyboardEvent) => move(event, index),
      onClick: () => onPick?.(index),
    }),
    tooltip: shown && labels[shown.index] !== undefined && (
      <div class="tooltip" style={{ left: `${shown.x}px`, top: `${shown.y}px` }} aria-hidden="true">
        {labels[shown.index]!.split('\n').map((line, i) => (i === 0 ? <strong>{line}</strong> : <span>{line}</span>))}
      </div>
    ),
  };
}

export const colour = (index: number): string => `var(--s${((index % 8) + 8) % 8})`;

// A name shortened in its middle to what a row's label has room for, at about 7 px a letter.
export function fitted(name: string, width: number): string {
  const letters = Math.max(6, Math.floor((width - 8) / 6.9));
  if (name.length <= letters) return name;
  const head = Math.ceil((letters - 1) * 0.6);
  return `${name.slice(0, head)}…${name.slice(name.length - (letters - 1 - head))}`;
}
