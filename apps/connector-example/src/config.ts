import { parseArgs } from 'node:util'
import { ConfigError, toAsciiDomain } from '@postern/core'

export interface ConnectorConfig {
  /** `https://chat.example`, without a port: whose word agents have. */
  readonly origin: string
  readonly host: string
  readonly port: number
  readonly name: string
  /** File of the keys and of the secret that sessions are signed with; made when it is not there. */
  readonly keyFile: string
  /** Where `@echo` alone is looked for. */
  readonly agentsDomain?: string | undefined
  /** Whether v0.2 credentials go along beside v0.1 attestations. */
  readonly credentials: boolean
  /** On one machine: cookies over plain HTTP, and `loopback`. */
  readonly dev: boolean
  /** Host → local port, in dev mode. */
  readonly loopback: Readonly<Record<string, number>>
  /** Whether the last `X-Forwarded-For` is the visitor's address. */
  readonly behindProxy: boolean
  readonly limits: ConnectorLimits
}

export const defaultLimits = {
  /** Messages of one person in a minute, and of one network address. */
  messagesPerMinute: 20,
  messagesPerAddress: 120,
  /** New names of one network address in a minute. */
  loginsPerMinute: 10,
  /** Calls of agents under way: in all, and of one person. */
  calls: 32,
  callsPerPerson: 4,
  /** Rooms that one network address may open in a minute. */
  roomsPerMinute: 10,
  /** Agents that one message of a person may wake, those included that agents bring in. */
  agentsPerMessage: 6,
  /** Agents that may pass a matter on to each other. */
  maxHops: 3,
  textChars: 4_000,
  rooms: 100,
  entriesPerRoom: 300,
  peoplePerRoom: 200,
  /** Browsers that are told what is new: in all, of one network address, and of one person. */
  streams: 1_000,
  streamsPerAddress: 200,
  streamsPerPerson: 6,
}

export type ConnectorLimits = Readonly<typeof defaultLimits>

const options = {
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

type TextName = 'origin' | 'host' | 'port' | 'name' | 'keys' | 'agents-domain'

const defaults: Readonly<Record<TextName, string | undefined>> = {
  origin: 'https://chat.test',
  host: '127.0.0.1',
  port: '8790',
  name: 'Chat room',
  keys: '.postern/chat-keys.json',
  'agents-domain': undefined,
}

/** Flags; each has a variable, too: `--agents-domain` is `CHAT_AGENTS_DOMAIN`. @throws ConfigError */
export function readFlags(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): ConnectorConfig {
  const values = parseFlags(args)
  const variable = (name: string) => environment[`CHAT_${name.toUpperCase().replaceAll('-', '_')}`]
  const text = (name: TextName) => values[name] ?? variable(name) ?? defaults[name]
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
    return parseArgs({ args: [...args], options, strict: true }).values
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : 'it cannot be read'
    throw new ConfigError('command line', problem, 'See README.md for the flags.', { cause })
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
