// Reads the configuration of the chat room from flags and environment variables.
import { parseArgs } from 'node:util'
import { ConfigError, toAsciiDomain } from '@postern/message'

export interface ConnectorConfig {
  /** The public origin, such as `https://chat.example`, without a port; agents trust evidence in its name. */
  readonly origin: string
  readonly host: string
  readonly port: number
  readonly name: string
  /** The file of the keys and of the secret that signs sessions; created if it does not exist. */
  readonly keyFile: string
  /** The domain in which a bare `@echo` is looked up. */
  readonly agentsDomain?: string | undefined
  /** True to send v0.2 credentials in addition to v0.1 attestations. */
  readonly credentials: boolean
  /** True if everything runs on one machine: cookies over plain HTTP, and `loopback`. */
  readonly dev: boolean
  /** The local port of each host, in dev mode. */
  readonly loopback: Readonly<Record<string, number>>
  /** True to trust the last `X-Forwarded-For` as the visitor's address. */
  readonly behindProxy: boolean
  readonly limits: ConnectorLimits
}

export const defaultLimits = {
  /** The messages per minute of one person, and of one network address. */
  messagesPerMinute: 20,
  messagesPerAddress: 120,
  /** The new names per minute of one network address. */
  loginsPerMinute: 10,
  /** The concurrent calls of agents: in all, and of one person. */
  calls: 32,
  callsPerPerson: 4,
  /** The rooms that one network address may open per minute. */
  roomsPerMinute: 10,
  /** The agents that one message of a person may wake, including those that agents bring in. */
  agentsPerMessage: 6,
  /** The agents that may pass a message on to each other. */
  maxHops: 3,
  textChars: 4_000,
  rooms: 100,
  entriesPerRoom: 300,
  peoplePerRoom: 200,
  /** The browsers that follow a room: in all, of one network address, and of one person. */
  streams: 1_000,
  streamsPerAddress: 200,
  streamsPerPerson: 6,
}

export type ConnectorLimits = Readonly<typeof defaultLimits>

const flagOptions = {
  origin: { type: 'string' },
  host: { type: 'string' },
  port: { type: 'string' },
  name: { type: 'string' },
  keys: { type: 'string' },
  'agents-domain': { type: 'string' },
  credentials: { type: 'boolean' },
  dev: { type: 'boolean' },
  loopback: { type: 'string', multiple: true },
  'behind-proxy': { type: 'boolean' },
} as const

type TextFlag = 'origin' | 'host' | 'port' | 'name' | 'keys' | 'agents-domain'

const defaults: Readonly<Record<TextFlag, string | undefined>> = {
  origin: 'https://chat.test',
  host: '127.0.0.1',
  port: '8790',
  name: 'Chat room',
  keys: '.postern/chat-keys.json',
  'agents-domain': undefined,
}

/** Reads the flags; each has a variable, too: `--agents-domain` is `CHAT_AGENTS_DOMAIN`. @throws ConfigError */
export function readFlags(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): ConnectorConfig {
  const values = parseFlags(args)
  const variable = (name: string) => environment[`CHAT_${name.toUpperCase().replaceAll('-', '_')}`]
  const text = (name: TextFlag) => values[name] ?? variable(name) ?? defaults[name]
  const isOn = (name: 'credentials' | 'dev' | 'behind-proxy') => values[name] ?? variable(name) === 'true'
  const loopback = values.loopback ?? variable('loopback')?.split(',') ?? []
  return checkConfig({
    origin: text('origin') ?? '',
    host: text('host') ?? '',
    port: Number(text('port')),
    name: text('name') ?? '',
    keyFile: text('keys') ?? '',
    agentsDomain: text('agents-domain'),
    credentials: isOn('credentials'),
    dev: isOn('dev'),
    loopback: Object.fromEntries(loopback.map(readLoopback)),
    behindProxy: isOn('behind-proxy'),
    limits: defaultLimits,
  })
}

function parseFlags(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: flagOptions, strict: true }).values
  } catch (cause) {
    const causeText = cause instanceof Error ? cause.message : 'it cannot be read'
    throw new ConfigError('command line', causeText, 'See README.md for the flags.', { cause })
  }
}

function readLoopback(text: string): readonly [string, number] {
  const [host = '', port] = text.split('=')
  if (!toAsciiDomain(host) || !/^\d{1,5}$/.test(port ?? '')) {
    throw new ConfigError('loopback', `"${text}" is no host and port`, 'Write it as agents.test=8787.')
  }
  return [host, Number(port)]
}

/** @throws ConfigError */
export function checkConfig(config: ConnectorConfig): ConnectorConfig {
  const { origin, agentsDomain, dev, loopback, port } = config
  const url = URL.parse(origin)
  if (url?.protocol !== 'https:' || url.origin !== origin || url.port || !toAsciiDomain(url.hostname)) {
    throw new ConfigError('origin', 'it is no https origin', 'Name the public one, such as https://chat.example.')
  }
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new ConfigError('port', 'it is no port', 'Name a number up to 65535.')
  }
  if (agentsDomain !== undefined && toAsciiDomain(agentsDomain) !== agentsDomain) {
    throw new ConfigError('agents-domain', 'it is no domain', 'Name the one of your agents, such as agents.example.')
  }
  if (!dev && Object.keys(loopback).length > 0) {
    throw new ConfigError('loopback', 'it is for dev mode only', 'Leave it out, or add --dev.')
  }
  return config
}
