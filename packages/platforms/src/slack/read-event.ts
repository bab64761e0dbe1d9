// Reads what Slack's adapter heard as events that all platforms share.
import type { Part } from '@postern/message'
import type { Adapter, Message } from 'chat'
import type { HeardEvent } from '../adapters/host.ts'
import type { PlatformEvent, PlatformLocation, PlatformPerson } from '../platform.ts'
import type { SlackContent, SlackEvent } from './document.ts'
import type { SlackHome, SlackWriter } from './people.ts'

interface ReadEventDeps {
  readonly adapter: Adapter
  readonly home: SlackHome
  findPerson(writer: SlackWriter): Promise<PlatformPerson>
  /** Returns true if an agent has answered in the thread. */
  hasAnswered(thread: string): Promise<boolean>
}

/** The subtypes of messages that somebody writes. The others are notices of Slack. */
const writtenSubtypes: ReadonlySet<string | undefined> = new Set([
  undefined,
  'bot_message',
  'file_share',
  'me_message',
  'thread_broadcast',
])

/** Returns the event in the form that all platforms share; undefined if it concerns no agent. @throws Unavailable */
export async function readSlackEvent(
  heard: HeardEvent,
  content: SlackContent,
  deps: ReadEventDeps,
): Promise<PlatformEvent | undefined> {
  const read = readers[heard.kind] as EventReader
  return read(heard, content, deps)
}

type EventReader<Kind extends HeardEvent['kind'] = HeardEvent['kind']> = (
  heard: Extract<HeardEvent, { readonly kind: Kind }>,
  content: SlackContent,
  deps: ReadEventDeps,
) => Promise<PlatformEvent | undefined>

const readers: { readonly [Kind in HeardEvent['kind']]: EventReader<Kind> } = {
  message: readMessage as EventReader<'message'>,
  edit: readEdit as EventReader<'edit'>,
  delete: readDeletion,
  reaction: readReaction,
  command: readCommand,
}

type LoadedEvent = Extract<HeardEvent, { load(): unknown }>

async function readMessage(
  { thread, load }: LoadedEvent,
  content: SlackContent,
  deps: ReadEventDeps,
): Promise<PlatformEvent | undefined> {
  const { event = {} } = content
  const { channel, ts } = event
  const writer = readWriter(event, deps.home)
  if (channel === undefined || ts === undefined || !writer || !writtenSubtypes.has(event.subtype)) return undefined
  if (writer.id === deps.adapter.botUserId) return undefined
  const isDirect = isDirectChannel(event)
  const isAsked = isDirect || event.type === 'app_mention'
  const isAnswered = !isAsked && (await deps.hasAnswered(thread))
  // Names are looked up only for messages that may be for an agent.
  if (!isAsked && !isAnswered && !mentionsBot(event, deps.adapter)) return undefined
  const [message, person] = await Promise.all([load(), deps.findPerson(writer)])
  if (message.author.isMe || message.author.isSystem) return undefined
  // Two programs that answer each other would never end, so a program has to mention the bot.
  const isContinuation = isAnswered && person.assurance !== 'bot'
  return {
    kind: 'message',
    object: formatObject(channel, ts),
    person,
    location: describeLocation({ event, thread, person, team: writer.team }),
    sentAt: toMs(ts),
    parts: readParts(message, event, deps.adapter),
    isForAgent: isDirect || message.isMention === true || isContinuation,
  }
}

/** Returns true if the raw event names the bot anywhere. The adapter tells later whether that is a mention. */
function mentionsBot(event: SlackEvent, { botUserId = '' }: Adapter): boolean {
  return JSON.stringify(event).includes(botUserId)
}

async function readEdit(
  { thread, load }: LoadedEvent,
  content: SlackContent,
  deps: ReadEventDeps,
): Promise<PlatformEvent | undefined> {
  const { event: { channel, channel_type, message: edited, previous_message: previous } = {} } = content
  const writer = edited && readWriter(edited, deps.home)
  const version = edited?.edited?.ts
  if (channel === undefined || edited?.ts === undefined || !writer) return undefined
  // Slack also reports previews of links and replies as changes. Only an edit of the writer has a new time.
  if (version === undefined || version === previous?.edited?.ts) return undefined
  if (writer.id === deps.adapter.botUserId) return undefined
  const [message, person] = await Promise.all([load(), deps.findPerson(writer)])
  if (message.author.isMe) return undefined
  return {
    kind: 'edit',
    object: formatObject(channel, edited.ts),
    version,
    person,
    location: describeLocation({ event: { ...edited, channel, channel_type }, thread, person, team: writer.team }),
    sentAt: toMs(version),
    parts: readParts(message, edited, deps.adapter),
  }
}

async function readDeletion(
  { thread, messageId, previousMessage }: Extract<HeardEvent, { kind: 'delete' }>,
  content: SlackContent,
  { findPerson, home }: ReadEventDeps,
): Promise<PlatformEvent | undefined> {
  const { event: { channel, channel_type, previous_message: previous } = {} } = content
  const writer = previous && readWriter(previous, home)
  if (channel === undefined || !writer || previousMessage?.author.isMe) return undefined
  const person = await findPerson(writer)
  const location = describeLocation({
    event: { ...previous, channel, channel_type },
    thread,
    person,
    team: writer.team,
  })
  return { kind: 'delete', object: formatObject(channel, messageId), person, location }
}

async function readReaction(
  { thread, messageId, emoji, isAdded, user }: Extract<HeardEvent, { kind: 'reaction' }>,
  content: SlackContent,
  { findPerson, home }: ReadEventDeps,
): Promise<PlatformEvent | undefined> {
  const { event = {} } = content
  const channel = event.item?.channel
  const writer = readWriter(event, home)
  if (channel === undefined || !writer || user.isMe) return undefined
  const person = await findPerson(writer)
  const location = describeLocation({ event: { channel }, thread, person, team: writer.team })
  const object = formatObject(channel, messageId)
  return { kind: 'reaction', object, version: event.event_ts, person, location, emoji, isAdded }
}

/** Reads a slash command. Only its writer sees that it was given, so it continues their direct conversation. */
async function readCommand(
  { text }: Extract<HeardEvent, { kind: 'command' }>,
  { user_id: id, trigger_id }: SlackContent,
  { findPerson, home }: ReadEventDeps,
): Promise<PlatformEvent | undefined> {
  if (id === undefined || trigger_id === undefined) return undefined
  const person = await findPerson({ ...home, id, isUnlistedBot: false })
  return {
    kind: 'message',
    object: `slack:command:${trigger_id}`,
    person,
    location: { channel: id, thread: '', conversation: person.subject, scope: person.subject, isDirect: true },
    parts: [{ kind: 'text', mime: 'text/plain', content: text }],
    isForAgent: true,
  }
}

/** Returns the writer of an event; undefined if nobody wrote it. */
function readWriter(event: SlackEvent, home: SlackHome): SlackWriter | undefined {
  const { user, bot_id: bot } = event
  const id = user ?? bot
  if (id === undefined) return undefined
  const writerTeam = event.user_team ?? event.team
  return { ...home, id, isUnlistedBot: user === undefined, isProgram: bot !== undefined, writerTeam }
}

interface LocationSource {
  readonly event: SlackEvent
  readonly thread: string
  readonly person: PlatformPerson
  /** The workspace of the bot. */
  readonly team: string
}

/**
 * Describes the location of an event. Everything in a direct conversation outside of its threads is one conversation. A channel has one scope, whether it is
 * public or private, because an `app_mention` does not tell.
 */
function describeLocation({ event, thread, person, team }: LocationSource): PlatformLocation {
  const { channel = '', thread_ts } = event
  const isDirect = isDirectChannel(event)
  return {
    channel,
    thread,
    conversation: isDirect && thread_ts === undefined ? person.subject : thread,
    scope: isDirect ? person.subject : `slack:${team}/${channel}`,
    isDirect,
  }
}

/** Returns true for a conversation with one person. A group conversation (`mpim`) is a channel. */
function isDirectChannel({ channel = '', channel_type }: SlackEvent): boolean {
  return channel_type === undefined ? channel.startsWith('D') : channel_type === 'im'
}

/** Returns the text, and each file as a link, which a person of the workspace can open. */
function readParts(message: Message, { files = [] }: SlackEvent, adapter: Adapter): readonly Part[] {
  const rendered = adapter.renderFormatted(message.formatted).trim()
  // Slack marks mailboxes up, and the adapter leaves their markup as it is.
  const text = withoutOwnName(rendered.replace(/<mailto:([^|>\s]+)(?:\|[^>]*)?>/g, '$1'), adapter)
  const links = files.flatMap(({ name, title = name, permalink }): Part[] =>
    permalink === undefined ? [] : [{ kind: 'link', url: permalink, ...(title !== undefined && { title }) }],
  )
  return [...(text === '' && links.length > 0 ? [] : [toTextPart(text)]), ...links]
}

function toTextPart(content: string): Part {
  return { kind: 'text', mime: 'text/markdown', content }
}

/** Removes the bot's own name from the beginning of a text, because it only addresses the message. */
function withoutOwnName(text: string, { botUserId, userName }: Adapter): string {
  for (const name of [botUserId, userName]) {
    const rest = name !== undefined && text.startsWith(`@${name}`) ? text.slice(name.length + 1) : undefined
    // Another name may begin with the bot's own.
    if (rest !== undefined && !/^[\p{L}\p{N}_-]/u.test(rest)) return rest.replace(/^[\s,:]+/, '')
  }
  return text
}

/** Formats the id of a message. A message and its mention come as two events; channel and `ts` make them one. */
function formatObject(channel: string, ts: string): string {
  return `slack:${channel}:${ts}`
}

function toMs(ts: string | undefined): number | undefined {
  const seconds = Number.parseFloat(ts ?? '')
  return Number.isFinite(seconds) ? Math.round(seconds * 1000) : undefined
}
