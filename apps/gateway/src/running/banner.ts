// Formats the first lines that a started gateway prints.
import { simulatedChannels } from '../channels.ts'
import type { GeneratedSecret } from '../dev/generated-secrets.ts'
import { softwareVersion } from '../system/version.ts'
import type { RunningGateway } from './run.ts'

interface BannerOptions {
  readonly hasSimulation: boolean
  /** The value of `--config`, which the lines to paste repeat. */
  readonly configPath?: string | undefined
}

const maxListedAgents = 20

/**
 * Formats the addresses, the token, and one line to paste for each channel.
 */
export function formatBanner(
  { gateway, config, listening, generatedSecrets = [] }: RunningGateway,
  { hasSimulation, configPath }: BannerOptions,
): string {
  const { agents, operatorToken } = gateway
  const [http, ...channelSockets] = listening
  const addresses = agents
    .list()
    .slice(0, maxListedAgents)
    .map(({ name }) => `@${name}@${agents.domain}`)
  const unlistedCount = agents.list().length - addresses.length
  const firstAgent = agents.defaultAgent ?? agents.list()[0]?.name ?? 'echo'
  const lines = [
    '',
    `Postern ${softwareVersion} listens on ${http?.description}${config.dev ? ' (dev mode)' : ''}`,
    '',
    `  agents    ${addresses.join(', ')}${unlistedCount > 0 ? `, and ${unlistedCount} more` : ''}`,
    ...channelSockets.map(({ label = '', description }) => `  ${label.padEnd(10)}${description}`),
    ...gateway.channels.flatMap(({ endpoint: { chatPage: entryPage } }) =>
      entryPage ? [`  ${entryPage.label.padEnd(10)}${http?.description}${entryPage.path}`] : [],
    ),
    `  console   ${http?.description}/operator/${config.dev ? `#${gateway.createSignInCode()}` : ''}`,
    ...(config.dev ? [`  token     ${operatorToken}`] : []),
    '',
    ...formatGeneratedSecrets(generatedSecrets),
    ...(hasSimulation ? formatTryLines(firstAgent, configPath) : []),
  ]
  return lines.join('\n')
}

/** Formats the secrets with their values, because other programs, such as webhook agents, need them too. */
function formatGeneratedSecrets(generatedSecrets: readonly GeneratedSecret[]): string[] {
  if (generatedSecrets.length === 0) return []
  const lines = generatedSecrets.map(({ source, key, value, plainSecret }) => {
    const shownKey = plainSecret === undefined ? key : `${key}; send ${plainSecret}`
    return `  ${source}=${value}  (${shownKey})`
  })
  return ['Dev mode generated these secrets for this run, because they are not set:', '', ...lines, '']
}

function formatTryLines(agent: string, configPath: string | undefined): string[] {
  const program = configPath === undefined ? 'npx postern' : `npx postern --config ${configPath}`
  const sendCommands = simulatedChannels.map(via => `  ${program} send --via ${via} --to ${agent} "hello"`)
  return [
    'Try it from another terminal. The messages are really signed and verified:',
    '',
    ...sendCommands,
    '',
    `Then: ${program} messages, and ${program} show <id>`,
    '',
  ]
}
