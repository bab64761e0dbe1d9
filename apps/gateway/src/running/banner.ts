// Formats the first lines that a started gateway prints.
import { simulatedChannels } from '../channels.ts'
import type { GeneratedSecret } from '../dev/generated-secrets.ts'
import { softwareVersion } from '../system/version.ts'
import type { Running } from './run.ts'

/**
 * Formats the address, the token, and one line to paste for each channel. `configPath` is the value of `--config`, which these lines
 * repeat.
 */
export function formatBanner(
  { gateway, config, listening, madeUp = [] }: Running,
  hasSimulation: boolean,
  configPath?: string,
): string {
  const { agents, operatorToken } = gateway
  const [http, ...channelSockets] = listening
  const addresses = agents.list().map(({ name }) => `@${name}@${agents.domain}`)
  const first = agents.defaultAgent ?? agents.list()[0]?.name ?? 'echo'
  const lines = [
    '',
    `Postern ${softwareVersion} listens on ${http?.description}${config.dev ? ' (dev mode)' : ''}`,
    '',
    `  agents    ${addresses.join(', ')}`,
    ...channelSockets.map(({ label = '', description }) => `  ${label.padEnd(10)}${description}`),
    ...gateway.channels.flatMap(({ endpoint: { entrance } }) =>
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

/** Prints the values, because other programs, such as webhook agents, need them, too. */
function madeUpLines(madeUp: readonly GeneratedSecret[]): string[] {
  if (madeUp.length === 0) return []
  const lines = madeUp.map(({ source, key, value, opensFor }) => {
    const shownKey = opensFor === undefined ? key : `${key}; send ${opensFor}`
    return `  ${source}=${value}  (${shownKey})`
  })
  return ['These secrets are not set, so dev mode made them up for this run:', '', ...lines, '']
}

function tryLines(agent: string, configPath: string | undefined): string[] {
  const postern = configPath === undefined ? 'npx postern' : `npx postern --config ${configPath}`
  const sends = simulatedChannels.map(via => `  ${postern} send --via ${via} --to ${agent} "hello"`)
  return [
    'Try it from another terminal. The messages are really signed and verified:',
    '',
    ...sends,
    '',
    `Then: ${postern} messages, and ${postern} show <id>`,
    '',
  ]
}
