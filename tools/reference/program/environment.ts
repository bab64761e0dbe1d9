// Writes docs/reference/environment.md from the configuration's variables.
import { listVariables } from '../../../apps/gateway/src/config/environment.ts'
import { formatInlineCode, formatMarkdownTable, formatPage } from '../markdown.ts'

const intro = `
Environment variables of \`npx postern\`. A variable overrides the same key of the configuration file.

- Values in lists and in \`agents\` have no variable. Write \`{ "env": "NAME" }\` into the file for a secret there.
- A variable that begins with \`POSTERN_\` and is not in this list stops the start. The error names it.
- \`npx postern config print\` shows the configuration that results.
`

/** Variables that are read outside of the configuration. */
const otherVariables: readonly (readonly [name: string, meaning: string])[] = [
  ['POSTERN_CONFIG', 'path of the configuration file, as `--config`'],
  ['POSTERN_URL', 'address of a gateway that commands ask without a configuration, as `--url`'],
  ['POSTERN_WEBHOOK_SECRET', 'secret of the webhook for the adapter of Chat SDK, in the process of the bot'],
  ['NO_COLOR', 'any value: commands print without colours'],
]

/** Writes docs/reference/environment.md. */
export function describeEnvironment(): string {
  const rows = [...listVariables()].map(([name, { path, type }]) => [
    formatInlineCode(name),
    formatInlineCode(path.join('.')),
    type,
  ])
  return formatPage('Environment variables', [
    intro,
    '## Of commands',
    formatMarkdownTable(
      ['variable', 'meaning'],
      otherVariables.map(([name, meaning]) => [formatInlineCode(name), meaning]),
    ),
    'Commands that ask a gateway take the token from `POSTERN_OPERATOR_TOKEN`.',
    '## Of the configuration',
    'The [configuration](configuration.md) says what each key means. Put commas between the values of a list.',
    formatMarkdownTable(['variable', 'key', 'type'], rows),
  ])
}
