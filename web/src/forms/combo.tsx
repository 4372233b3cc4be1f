// A text field that offers what is known as one types: the combobox of the ARIA Authoring Practices, with a list.
import { useEffect, useId, useRef, useState } from 'preact/hooks';

export interface Offer {
  value: string;
  detail?: string;
  also?: string[]; // other names it is found by
}

export interface ComboProps {
  label: string;
  value: string;
  offers: Offer[];
  onPick: (value: string) => void;
  onText?: (text: string) => void; // as typed, where any text will do
  placeholder?: string;
  clearOnPick?: boolean;
}

const fold = (text: string): string => text.toLowerCase().replace(/[^a-z0-9.]/g, '');

// Where the text stands in its name; behind all of those where only another name has it, -1 where none does.
function placeIn(offer: Offer, wanted: string): number {
  const at = fold(offer.value).indexOf(wanted);
  return at >= 0 ? at : (offer.also ?? []).some((name) => fold(name).includes(wanted)) ? 1 : -1;
}

// Names that begin with the text first, then those that contain it.
export function matching(offers: Offer[], typed: string, most = 60): Offer[] {
  const wanted = fold(typed);
  const ranked = offers.map((offer) => ({ offer, at: placeIn(offer, wanted) })).filter(({ at }) => at >= 0);
  return ranked.sort((a, b) => Math.min(a.at, 1) - Math.min(b.at, 1)).slice(0, most).map(({ offer }) => offer);
}

export function Combo({ label, value, offers, onPick, onText, placeholder, clearOnPick }: ComboProps) {
  const id = useId();
  const [typed, setTyped] = useState(value);
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => setTyped(value), [value]);
  const shown = open ? matching(offers, typed === value ? '' : typed) : [];
  useEffect(() => list.current?.children[active]?.scrollIntoView({ block: 'nearest' }), [active]);
  const pick = (picked: string) => {
    setTyped(clearOnPick ? '' : picked);
    setOpen(false);
    setActive(-1);
    onPick(picked);
  };
  // A whole name counts as picked; half of one is dropped.
  const leave = () => {
    setOpen(false);
    const exact = offers.find((offer) => fold(offer.value) === fold(typed));
    if (exact && exact.value !== value) pick(exact.value);
    else if (!onText) setTyped(value);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      setOpen(true);
      setActive((at) => Math.max(0, Math.min(shown.length - 1, at + (event.key === 'ArrowDown' ? 1 : -1))));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      const offer = shown[Math.max(0, active)];
      if (open && offer && (active >= 0 || !onText)) pick(offer.value);
      else if (typed !== '') pick(typed);
    } else if (event.key === 'Escape') setOpen(false);
  };
  return (
    <div class="control combo">
      <label for={id}>{label}</label>
      <input id={id} type="text" role="combobox" aria-expanded={open && shown.length > 0} aria-controls={`${id}-list`} aria-autocomplete="list"
        aria-activedescendant={active >= 0 && shown[active] ? `${id}-${active}` : undefined} value={typed} placeholder={placeholder} spellcheck={false} autocomplete="off"
        onFocus={(event) => event.currentTarget.select()} onClick={() => setOpen(true)}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setOpen(true);
          setActive(-1);
          onText?.(event.currentTarget.value);
        }}
        onKeyDown={onKeyDown} onBlur={leave} />
      <ul id={`${id}-list`} role="listbox" ref={list} aria-label={label} hidden={shown.length === 0}>
        {shown.map((offer, i) => (
          <li id={`${id}-${i}`} role="option" aria-selected={i === active} onMouseDown={(event) => {
            event.preventDefault();
            pick(offer.value);
          }}>
            {offer.value}{offer.detail && <small>{offer.detail}</small>}
          </li>
        ))}
      </ul>
    </div>
  );
}
