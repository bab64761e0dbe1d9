import type {
  Agent,
  AgentDirectory,
  AgentProfile,
  NormalizedMessage,
  Part,
  RunningAgent,
  Sender,
  TextPart,
} from '@postern/core'
import type { AgentIcon } from '../config/profile.ts'
import type { CommonAgentConfig } from './agent-kind.ts'

/** The agents that run, by their names. */
export interface RunningDirectory extends AgentDirectory {
  findRunning(name: string): RunningAgent | undefined
  /** Its picture, when it is a file; `AgentProfile.iconUrl` says where it is served. */
  findIcon(name: string): AgentIcon | undefined
}

/** An agent that is open. */
export interface OpenResident {
  readonly profile: AgentProfile
  readonly running: RunningAgent
  readonly icon: AgentIcon | undefined
  /** Once, however often it is asked. What it throws is logged. */
  close(): Promise<void>
}

/** The agents of one configuration. */
export interface AgentSet {
  readonly residents: ReadonlyMap<string, OpenResident>
  readonly defaultAgent: string | undefined
}

/** The agents that run now, until others replace them. */
export function createRunningAgents(first: AgentSet, { domain, origin }: Pick<AgentDirectory, 'domain' | 'origin'>) {
  let open = first
  const directory: RunningDirectory = {
    domain,
    origin,
    get defaultAgent() {
      return open.defaultAgent
    },
    find: name => open.residents.get(name)?.profile,
    list: () => [...open.residents.values()].map(({ profile }) => profile),
    findRunning: name => open.residents.get(name)?.running,
    findIcon: name => open.residents.get(name)?.icon,
  }
  return {
    directory,
    listResidents: () => [...open.residents.values()],
    /** @returns those that ran before */
    replace(renewed: AgentSet): AgentSet {
      const former = open
      open = renewed
      return former
    },
  }
}

/** Agents that only handle messages get only messages. */
export function hearOnly(agent: Agent, kinds: CommonAgentConfig['receives']): Agent {
  return {
    ...(agent.start && { start: publisher => agent.start?.(publisher) }),
    handle: (message, context) =>
      kinds.includes(message.kind ?? 'message') ? agent.handle(message, context) : undefined,
  }
}

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  '#39': "'",
  nbsp: ' ',
}

/** The sender's text as plain text: the plain version if there is one, else the HTML without its tags. */
export function readReceivedText({ parts }: Pick<NormalizedMessage, 'parts'>): string {
  const texts = parts.filter(part => part.kind === 'text')
  const plain = texts.filter(part => part.mime !== 'text/html')
  return (plain.length > 0 ? plain : texts).map(toPlainText).join('\n\n').trim()
}

function toPlainText({ mime, content }: TextPart): string {
  return mime === 'text/html' ? stripTags(content) : content
}

// `[^<>]` and not `[^>]`: a run of "<" without an end must not cost quadratic time.
function stripTags(html: string): string {
  return html
    .replace(/<(?:br|\/p|\/div|\/li|\/blockquote)\b[^<>]*>/gi, '\n')
    .replace(/<[^<>]*>/g, '')
    .replace(/&(#?\w{1,8});/g, (whole, name: string) => entities[name] ?? whole)
    .replace(/\n{3,}/g, '\n\n')
}

/** Longest quotation, UTF-16 code units. */
const maxQuoted = 4_000

/** Repeats the message, with the sender's address and its proof. */
export function createEchoAgent(): Agent {
  return { handle: message => [quoteReceived(message), ...describeSender(message.sender)].join('\n') }
}

function quoteReceived(message: NormalizedMessage): string {
  const text = clip(readReceivedText(message)) || '(no text)'
  const lines = [...text.split('\n'), ...message.parts.map(nameFile).filter(Boolean)]
  return `${lines.map(line => `> ${line}`.trimEnd()).join('\n')}\n`
}

function describeSender(sender: Sender): readonly string[] {
  const issuer = sender.identities?.find(({ proof }) => proof.type === 'transport')?.issuer
  const facts = [
    ['From', sender.address],
    ['Proven by', asCode(sender.auth_method)],
    ['Verified', sender.verified ? 'yes' : 'no'],
    ['Key', asCode(sender.key_id)],
    ['Issuer', asCode(issuer)],
  ]
  return facts.filter(([, value]) => value).map(([label, value]) => `- **${label}:** ${value}`)
}

function nameFile(part: Part): string {
  if (part.kind !== 'file' && part.kind !== 'artifact') return ''
  return `[${part.kind}: ${part.name ?? part.description ?? 'unnamed'}${part.mime ? `, ${part.mime}` : ''}]`
}

// A key id is the peer's text, so it must not break its code span or its line.
function asCode(text: string | undefined): string | undefined {
  return text && `\`${text.replace(/[`\p{Cc}]/gu, '')}\``
}

function clip(text: string): string {
  return text.length > maxQuoted ? `${text.slice(0, maxQuoted)}…` : text
}
