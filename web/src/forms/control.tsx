// One declared argument as a control: its label, unit, range, help and the error that is about it.
import { useId } from 'preact/hooks';
import type { ApiError, Argument } from '../api';
import { keyOf, labelOf, rangeText } from './query';

export interface ControlProps {
  argument: Argument;
  value: string;
  onChange: (text: string) => void;
  error?: ApiError | undefined;
  label?: string;
  exact?: boolean; // the label is a name, whose case matters
}

const isYes = (text: string): boolean => text === 'true' || text === '1';

function Input({
  argument,
  value,
  onChange,
  id,
  describedBy,
  invalid,
}: {
  argument: Argument;
  value: string;
  onChange: (text: string) => void;
  id: string;
  describedBy: string;
  invalid: boolean;
}) {
  const shared = { id, 'aria-describedby': describedBy, 'aria-invalid': invalid };
  if (argument.kind === 'choice')
    return (
      <select {...shared} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="">{argument.default ? `${argument.default} (default)` : 'automatic'}</option>
        {argument.choices
          .filter((choice) => choice !== argument.default)
          .map((choice) => (
            <option value={choice}>{choice}</option>
          ))}
        {value !== '' && value === argument.default && <option value={value}>{value}</option>}
      </select>
    );
  const numeric = argument.kind === 'count' || argument.kind === 'number' || argument.kind === 'size';
  return (
    <input
      {...shared}
      type="text"
      value={value}
      placeholder={argument.default && argument.default !== '0' ? argument.default : ''}
      spellcheck={false}
      autocomplete="off"
      inputMode={numeric ? 'decimal' : 'text'}
      class={numeric ? 'numeric' : ''}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  );
}

export function Control({ argument, value, onChange, error, label = labelOf(argument), exact = false }: ControlProps) {
  const id = useId();
  const mine = error?.field === keyOf(argument) ? error : undefined;
  const range = rangeText(argument);
  const help = [argument.help, range, argument.example && `e.g. ${argument.example}`].filter(Boolean).join('; ');
  if (argument.kind === 'yes_no')
    return (
      <div class="control yesno">
        <input
          type="checkbox"
          id={id}
          checked={isYes(value)}
          aria-describedby={`${id}-help`}
          onChange={(event) => onChange(event.currentTarget.checked ? 'true' : '')}
        />
        <label for={id}>{label}</label>
        <small id={`${id}-help`}>{argument.help}</small>
      </div>
    );
  return (
    <div class={mine ? 'control wrong' : 'control'}>
      <label for={id} class={exact ? 'exact' : undefined}>
        {label}
        {argument.unit && <span class="unit"> {argument.unit}</span>}
      </label>
      <Input
        argument={argument}
        value={value}
        onChange={onChange}
        id={id}
        describedBy={`${id}-help`}
        invalid={mine !== undefined}
      />
      <small id={`${id}-help`} title={help}>
        {mine ? `${mine.message}${mine.remedy ? `: ${mine.remedy}` : ''}` : help}
      </small>
    </div>
  );
}
