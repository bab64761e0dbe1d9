// Writes docs/reference/doctor.md from the doctor's checks.
import { groupOf } from '../../../packages/operator/src/doctor/check.ts'
import { installationChecks, machineChecks } from '../../../packages/operator/src/doctor/checks.ts'
import { checkGroups } from '../../../packages/operator/src/doctor/report.ts'
import { formatInlineCode, formatMarkdownTable, formatPage } from '../markdown.ts'

const intro = `
\`npx postern doctor\` runs these checks side by side, each with a time-out: a run takes half a minute at most. \`GET /operator/api/doctor\` gives the same findings.

- A finding has an id, a subject (a host, an address, a file), a verdict and a sentence; what is wrong has its fix.
- The verdict is \`ok\`, \`warning\`, \`failure\`, or \`skipped\` with the reason.
- The exit code is 1 if something fails, and else 0. Warnings do not change it.
- \`--only mail,tls\` checks these groups. \`--json\` prints the report of the operator API.
- Checks write nothing to people or peers. The checks of \`channels\` and \`mail.relay\` leave a few refusals in \`postern refusals\`.
- Without a gateway \`doctor\` skips the checks that need one. In dev mode it asks nobody outside.
`

/** Writes docs/reference/doctor.md. */
export function describeDoctor(): string {
  const checks = [...machineChecks, ...installationChecks]
  const sections = checkGroups.flatMap(group => [
    `## \`${group}\``,
    formatMarkdownTable(
      ['id', 'what', 'fix'],
      checks
        .filter(check => groupOf(check) === group)
        .map(({ id, description: what, fix }) => [formatInlineCode(id), what, fix]),
    ),
  ])
  return formatPage('Checks of an installation', [intro, ...sections])
}
