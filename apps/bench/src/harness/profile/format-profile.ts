// Formats a summary of profiles as tables.
import { formatColumns } from '../tables/columns.ts'
import type { ProfileSummary } from './summarize-profiles.ts'

/** Formats the time by module, by function, and by our functions with everything they call. */
export function formatProfile(title: string, { functions, modules, inclusive }: ProfileSummary): string {
  const format = (times: ProfileSummary['modules']) =>
    formatColumns(times.map(({ name, share }) => [`${(share * 100).toFixed(1)} %`.padStart(7), name]))
  return [
    `${title}: self time by module`,
    format(modules),
    `\n${title}: self time by function`,
    format(functions),
    `\n${title}: our functions with all they call`,
    format(inclusive),
  ].join('\n')
}
