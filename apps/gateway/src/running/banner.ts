import { simulatedChannels } from '../channels.ts'
import type { MadeUpSecret } from '../dev/dev-configs.ts'
import { softwareVersion } from '../platform/version.ts'
import type { Running } from './run.ts'

/**
 * What a newcomer reads first: where it listens, the token, and one line to paste for each channel. `configPath` is what
 * `--config` named: the lines to paste need it, too.
 */
export function formatBanner(
  { gateway, config, listening, madeUp = [] }: Running,
  hasSimulation: boolean,
  configPath?: string,
): string {
  const { agents, operatorToken } = gateway
  const [http, ...others] = listening
  const addresses = agents.list().map(({ name }) => `@${name}@${agents.domain}`)
  const first = agents.defaultAgent ?? agents.list()[0]?.name ?? 'echo'
  const lines = [
    '',
    `Postern ${softwareVersion} listens on ${http?.description}${config.dev ? ' (dev mode)' : ''}`,
    '',
    `  agents    ${addresses.join(', ')}`,
    ...others.map(({ label = '', description }) => `  ${label.padEnd(10)}${description}`),
    ...gateway.channels.flatMap(({ entrance }) =>
      entrance ? [`  ${entrance.label.padEnd(10)}${http?.description}${entrance.path}`] : [],
    ),
    `  console   ${http?.description}/operator/${config.dev ? `#${gateway.makeSignInCode()}` : ''}`,
    ...(config.dev ? [`  token     ${operatorToken}`] : []),
    '',
    ...madeUpLines(madeUp),
    ...(hasSimulation ? tryLines(first, configPath) : []),
  ]
  return lines.join('\n')
}

/** Programs outside, such as webhook agents, need the value, too. */
function madeUpLines(madeUp: readonly MadeUpSecret[]): string[] {
  if (madeUp.length === 0) return []
  const lines = madeUp.map(({ source, key, value }) => `  ${source}=${value}  (${key})`)
  return ['These secrets are not set, so dev mode made them up for this run:', '', ...lines, '']
}

function tryLines(agent: string, configPath: string | undefined): string[] {
  const postern = configPath === undefined ? 'npx postern' : `npx postern --config ${configPath}`
  const sends = simulatedChannels.map(via => `  ${postern} send --via ${via} --to ${agent} "hello"`)
  return [
    'Try it from another terminal, signed and verified for real:',
    '',
    ...sends,
    '',
    `Then: ${postern} messages, and ${postern} show <id>`,
    '',
  ]
}
