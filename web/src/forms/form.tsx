// The controls of a question, made from its declared arguments: the ones a view puts first, the others folded under
// the headings that the command line's help gives them.
import { useMemo, useState } from 'preact/hooks';
import type { ApiError, Argument } from '../api';
import type { Values } from '../link';
import { Control } from './control';
import { inScope, keyOf } from './query';

export interface FormProps {
  declared: Argument[] | undefined; // undefined: not there yet
  values: Values;
  onChange: (change: Values) => void;
  error?: ApiError | undefined;
  main: string[]; // keys shown first, in this order
  facts?: Values; // what scopes ask for beside arguments
  skip?: string[]; // keys that the view has its own controls for, or that make no sense in a page
}

// Paths of the program's machine mean nothing to whoever reads the page.
const never = ['weights', 'output', 'out'];

function Folded({
  title,
  list,
  open,
  ...rest
}: { title: string; list: Argument[]; open: boolean } & Pick<FormProps, 'values' | 'onChange' | 'error'>) {
  const set = list.filter((argument) => (rest.values[keyOf(argument)] ?? '') !== '').length;
  return (
    <details class="folded" open={open}>
      <summary>
        {title}
        {set > 0 && <span class="count"> {set} set</span>}
      </summary>
      {list.map((argument) => (
        <Control
          key={argument.name}
          argument={argument}
          value={rest.values[keyOf(argument)] ?? ''}
          error={rest.error}
          onChange={(text) => rest.onChange({ [keyOf(argument)]: text })}
        />
      ))}
    </details>
  );
}

export function ArgumentForm({ declared, values, onChange, error, main, facts = {}, skip = [] }: FormProps) {
  const [search, setSearch] = useState('');
  const [open, setOpen] = useState(false);
  const byKey = useMemo(() => new Map((declared ?? []).map((argument) => [keyOf(argument), argument])), [declared]);
  if (!declared) return <div class="control waiting" />;
  const first = main
    .map((key) => byKey.get(key))
    .filter((argument): argument is Argument => argument !== undefined && inScope(argument, values, declared, facts));
  const others = declared.filter((argument) => {
    const key = keyOf(argument);
    if (main.includes(key) || skip.includes(key) || never.includes(key)) return false;
    return (
      inScope(argument, values, declared, facts) &&
      (search === '' || `${argument.name} ${argument.help}`.toLowerCase().includes(search.toLowerCase()))
    );
  });
  const set = others.filter((argument) => (values[keyOf(argument)] ?? '') !== '').length;
  const wrong = error !== undefined && others.some((argument) => keyOf(argument) === error.field);
  const shown = open || wrong; // dozens of controls, made when somebody wants them
  const groups = [...new Set(others.map((argument) => argument.group || 'More settings'))];
  return (
    <>
      {first.map((argument) => (
        <Control
          key={argument.name}
          argument={argument}
          value={values[keyOf(argument)] ?? ''}
          error={error}
          onChange={(text) => onChange({ [keyOf(argument)]: text })}
        />
      ))}
      <details class="more" open={shown} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>All settings{set > 0 && <span class="count"> {set} set</span>}</summary>
        {shown && (
          <>
            <label class="search">
              Find a setting <input type="search" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
            </label>
            {groups.map((group) => (
              <Folded
                key={group}
                title={group}
                open={search !== '' || groups.length === 1}
                list={others.filter((argument) => (argument.group || 'More settings') === group)}
                values={values}
                onChange={onChange}
                error={error}
              />
            ))}
          </>
        )}
      </details>
    </>
  );
}
