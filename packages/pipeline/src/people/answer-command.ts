// Answers the messages by which people link addresses, end a link, or ask the gateway to forget them.
import type { PartialResponse } from '@postern/message'
import { isoTime, makeId, parseAddress, Rejection, Unavailable, Undeliverable } from '@postern/message'
import type { AddressDirectMessage } from '../actions/direct-message.ts'
import { planDirectMessage } from '../actions/direct-message.ts'
import type { Channel } from '../ports/channel/channel.ts'
import { findChannel } from '../ports/channel/channel.ts'
import type { PersonAddress, PersonIdentity } from '../ports/records/people/person.ts'
import type { LinkChange, LinkNotifications, LinkRefusal, LinkRequest } from '../ports/records/people/person-link.ts'
import { linkLimits } from '../ports/records/people/person-link.ts'
import type { PlannedAction } from '../ports/records/work/answer.ts'
import type { Turn } from '../ports/records/work/turn.ts'
import type { RunningAgent } from '../ports/turn/running-agent.ts'
import type { TurnContext } from '../ports/turn/turn-context.ts'
import { createLinkChangeRenderer } from './link-change-message.ts'
import { formatCode } from './link-code.ts'
import type { PersonCommand } from './person-commands.ts'
import { readPersonCommand } from './person-commands.ts'
import { findRules, readPersonAddress, readPersonIdentity, showPersonAddress } from './person-identity.ts'
import { isPrivateConversation } from './person-turn.ts'

/** The gateway's own answer to a command. */
interface CommandAnswer {
  readonly partial: PartialResponse
  readonly acts: readonly PlannedAction[]
}

interface CommandContext {
  readonly turn: Turn
  readonly identity: PersonIdentity
  readonly turnContext: TurnContext
  readonly receives: RunningAgent['receives']
}

/** Plans the messages that inform the agent of a link or its end; undefined if its configuration does not ask for them. */
async function planLinkedEvents(
  kind: LinkChange['kind'],
  { turn, identity, turnContext, receives }: CommandContext,
): Promise<LinkNotifications | undefined> {
  if (!receives?.includes(kind)) return undefined
  const { store, channels, system } = turnContext
  const conversation = await store.findConversation(turn.agent, turn.content.thread_id)
  if (!conversation) return undefined
  const describe = createLinkChangeRenderer({ turn, identity, conversation, channels, at: isoTime(system.now()) })
  return { describe, correlationId: turn.correlationId }
}

type Handlers = {
  readonly [Name in PersonCommand['name']]: (
    command: Extract<PersonCommand, { name: Name }>,
    context: CommandContext,
  ) => Promise<CommandAnswer | undefined>
}

const handlers: Handlers = {
  link: ({ address }, context) => requestLink(address, context),
  confirm: confirmCode,
  unlink: ({ address }, context) => endLink(address, context),
  linked: (_, context) => listLinked(context),
  forget: (_, context) => forgetSender(context),
}

/**
 * Answers a message that is a command, if the agent's configuration allows links and the sender is proven; undefined if the message is for the
 * agent. The command's effect is durable before the answer, and repeated runs of the turn do not repeat it.
 */
export async function answerCommand(
  turn: Turn,
  turnContext: TurnContext,
  { people, receives }: Pick<RunningAgent, 'people' | 'receives'>,
): Promise<CommandAnswer | undefined> {
  const command = people?.link && turnContext.people ? readPersonCommand(turn.content) : undefined
  const identity = command && readPersonIdentity(turn.content, turn.flags, turnContext.channels)
  if (!command || !identity) return undefined
  const context = { turn, identity, turnContext, receives }
  if (await isPrivateConversation(turn, identity, turnContext)) return handlers[command.name](command as never, context)
  // Others read this conversation, so the gateway answers only on channels that can reach the author alone.
  const rules = findRules(turnContext.channels, turn.content.received_via)
  return rules?.answersInPrivate && command.name !== 'confirm' ? createAnswer(personTexts.inPrivate()) : undefined
}

function createAnswer(content: string, acts: readonly PlannedAction[] = []): CommandAnswer {
  return {
    partial: { parts: [{ kind: 'text', mime: 'text/plain', content }], visibility: 'direct', mentions: [] },
    acts,
  }
}

async function requestLink(text: string, { turn, identity, turnContext }: CommandContext): Promise<CommandAnswer> {
  const texts = createPersonTexts(turnContext.channels)
  const otherAddress = readPersonAddress(text, turnContext.channels, readOwnDomain(turn))
  const refusalText = otherAddress ? findRefusalText(otherAddress, identity, turn, turnContext) : texts.noAddress()
  if (!otherAddress || refusalText) return createAnswer(refusalText ?? texts.noAddress())
  const target = await proveTarget(otherAddress, turnContext)
  if (!target) return createAnswer(personTexts.notFound())
  const { agent, message } = turn
  const code = deriveCode({ agent, message, asker: identity, target }, turnContext)
  const notice = makeId(turnContext.system)
  const [digest] = digestCode(code, agent, turnContext)
  const result = await turnContext.store.requestLink({ agent, asker: identity, target, message, digest, notice })
  if (result.outcome === 'refused') return createAnswer(refusalTexts[result.reason])
  const act = planNotice(
    { target, text: texts.notice(identity, turn.content.recipient, code), id: result.notice },
    turn,
    turnContext,
  )
  return act ? createAnswer(texts.sent(target), [act]) : createAnswer(personTexts.cannotSend())
}

/** Finds the principal who has the address now, so that a later owner is not mistaken for them; undefined if there is none or it cannot be found. */
async function proveTarget(target: PersonAddress, { channels }: TurnContext): Promise<PersonAddress | undefined> {
  if (target.subject !== undefined) return target
  try {
    const subject = await findChannel(channels, target.via)?.peers?.findPrincipal?.(target.address)
    return subject === undefined ? undefined : { ...target, subject }
  } catch (error) {
    const isPeerError = error instanceof Unavailable || error instanceof Undeliverable || error instanceof Rejection
    if (isPeerError) return undefined
    throw error
  }
}

function findRefusalText(
  target: PersonAddress,
  { via, address }: PersonIdentity,
  turn: Turn,
  { findAgent, channels }: TurnContext,
): string | undefined {
  if (target.via === via && target.address === address) return personTexts.sameAddress()
  const channel = findChannel(channels, target.via)
  const rules = channel?.descriptor.speaker
  if (rules?.isChat) return personTexts.fromChat()
  const { local, domain } = parseAddress(target.address)
  const isOwnDomain = domain === readOwnDomain(turn)
  if (isOwnDomain && (rules?.ownsDomain || findAgent(local.split('+')[0] ?? local))) return personTexts.agent()
  return findNoticeAddressing(channel) ? undefined : personTexts.cannotSend()
}

function readOwnDomain({ content }: Turn): string {
  return parseAddress(content.recipient).domain
}

/** Derives a code from the request, so that a retried turn sends the same code again. */
function deriveCode(
  { agent, message, asker, target }: Omit<LinkRequest, 'digest' | 'notice'>,
  { people }: TurnContext,
): string {
  const claim = ['code', agent, message, keyOf(asker), asker.subject, keyOf(target)].join('\n')
  return formatCode(people?.deriveBytes(claim)[0] ?? new Uint8Array())
}

/** Digests a code with each valid key, newest key first. */
function digestCode(code: string, agent: string, { people }: TurnContext): readonly [string, ...string[]] {
  const [digest = '', ...formerDigests] = (people?.deriveBytes(['digest', agent, code].join('\n')) ?? []).map(formatHex)
  return [digest, ...formerDigests]
}

function formatHex(bytes: Uint8Array): string {
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
}

function keyOf({ via, address }: PersonAddress): string {
  return `${via} ${address}`
}

interface Notice {
  readonly target: PersonAddress
  readonly text: string
  readonly id: string
}

function findNoticeAddressing(channel: Channel | undefined): AddressDirectMessage | undefined {
  return channel?.actions?.addressNotice ?? channel?.actions?.address
}

/** Plans a message of the gateway to an address that may never have written here. */
function planNotice(
  { target, text, id }: Notice,
  turn: Turn,
  { channels, system }: TurnContext,
): PlannedAction | undefined {
  const channel = findChannel(channels, target.via)
  const address = findNoticeAddressing(channel)
  if (!channel || !address) return undefined
  const subject = channel.descriptor.speaker.isMailbox ? `Linking ${showPersonAddress(target, channels)}` : undefined
  const parts = [{ kind: 'text', mime: 'text/plain', content: text }] as const
  return planDirectMessage(
    { id, channel, to: target.address, parts, subject, flag: 'link_notice' },
    turn,
    address,
    system,
  )
}

async function confirmCode(
  { code, isBare }: Extract<PersonCommand, { name: 'confirm' }>,
  context: CommandContext,
): Promise<CommandAnswer | undefined> {
  const { turn, identity, turnContext } = context
  const { agent, message } = turn
  const { store } = turnContext
  const [digest, ...formerDigests] = digestCode(code, agent, turnContext)
  const notice = makeId(turnContext.system)
  const events = await planLinkedEvents('link', context)
  const result = await store.confirmLink({ agent, asker: identity, message, digest, formerDigests, notice, events })
  if (result.outcome === 'none') return isBare ? undefined : createAnswer(personTexts.noOpenCode())
  if (result.outcome === 'full') return createAnswer(refusalTexts.full)
  if (result.outcome === 'wrong') return createAnswer(personTexts.wrongCode(result.attemptsLeft))
  const { target } = result
  // The person at the other address gets a notice, because somebody else may have read their code.
  const texts = createPersonTexts(turnContext.channels)
  const linkedNotice = { target, text: texts.linkedNotice(identity, turn.content.recipient), id: result.notice }
  const act = planNotice(linkedNotice, turn, turnContext)
  return createAnswer(texts.linked(target), act ? [act] : [])
}

async function endLink(text: string, context: CommandContext): Promise<CommandAnswer> {
  const { turn, identity, turnContext } = context
  const otherAddress = readPersonAddress(text, turnContext.channels, readOwnDomain(turn))
  const { agent } = turn
  const events = await planLinkedEvents('unlink', context)
  const isDone = otherAddress && (await turnContext.store.unlink({ agent, identity, other: otherAddress, events }))
  return createAnswer(isDone ? createPersonTexts(turnContext.channels).unlinked(otherAddress) : personTexts.notLinked())
}

async function listLinked({ turn, identity, turnContext }: CommandContext): Promise<CommandAnswer> {
  const person = await turnContext.store.findPerson(turn.agent, identity)
  const otherAddresses = person?.addresses.filter(
    ({ via, address }) => via !== identity.via || address !== identity.address,
  )
  return createAnswer(createPersonTexts(turnContext.channels).list(otherAddresses ?? []))
}

async function forgetSender({ turn, identity, turnContext }: CommandContext): Promise<CommandAnswer> {
  const request = { agent: turn.agent, addresses: [identity], exceptMessage: turn.message, isOwn: true }
  const { messages, unreachable } = await turnContext.store.forgetPerson(request)
  const fileCount = unreachable.length
  const text = personTexts.forgotten(messages)
  if (fileCount === 0) return createAnswer(text)
  turnContext.system.log.error(
    { agent: turn.agent, files: fileCount },
    'files of a forgotten person could not be deleted',
  )
  return createAnswer(`${text} ${personTexts.undeletedFiles(fileCount)}`)
}

const minutes = linkLimits.codeLifetimeMs / 60_000

/** The texts that the gateway sends in an agent's name. None of them contains text that somebody wrote freely. */
const personTexts = {
  inPrivate: () => 'Ask me this in a direct message, where nobody else reads along.',
  notFound: () => 'I find nobody at that address, or its server does not answer now.',
  sameAddress: () => 'You are writing from that address already.',
  agent: () => 'That is the address of an agent, not of a person.',
  fromChat: () => 'Nothing can be sent to a chat. Ask there: write "link" and this address in the chat.',
  cannotSend: () => 'I have no way to send a code there.',
  wrongCode: (attemptsLeft: number) =>
    attemptsLeft > 0
      ? `That is not the code, or its time is over. ${attemptsLeft} more ${attemptsLeft === 1 ? 'try' : 'tries'}.`
      : 'That is not the code, and there are no more tries. Ask for another one with "link".',
  noOpenCode: () => 'There is no code to wait for. Ask for one with "link" and the other address.',
  notLinked: () => 'That address is not linked with this one.',
  forgotten: (messageCount: number) =>
    `Done: what you wrote to me and what I answered is deleted (${messageCount} ${messageCount === 1 ? 'message' : 'messages'}), and so is every link. Only this last exchange is left.`,
  undeletedFiles: (fileCount: number) =>
    `${fileCount} of your files could not be deleted. The operator of this gateway knows of it and has to delete them.`,
} as const

/** Creates the texts that contain addresses, each as people write it on its channel. */
function createPersonTexts(channels: readonly Pick<Channel, 'descriptor'>[]) {
  const show = (address: PersonAddress) => showPersonAddress(address, channels)
  return {
    noAddress() {
      const examples = channels.flatMap(({ descriptor }) => descriptor.speaker.addressExample ?? [])
      const commands = examples.map(({ address, means }) => `"link ${address}" for ${means}`)
      return `This is no address I can link. Write ${commands.join(', ')}.`
    },
    sent: (target: PersonAddress) =>
      `I have sent a code to ${show(target)}. Write it to me here within ${minutes} minutes: "confirm" and the code.`,
    notice(requester: PersonAddress, agent: string, code: string) {
      const isChat = findRules(channels, requester.via)?.isChat === true
      const instruction = isChat
        ? 'write this in the chat where you asked,'
        : `send this to the agent from ${show(requester)}`
      return [
        `${show(requester)} says that this address belongs to the same person, and asks the agent ${agent} to link both.`,
        `If that was you, ${instruction} within ${minutes} minutes:`,
        `confirm ${code}`,
        'If it was not you, do nothing, and give the code to nobody: without it nothing happens.',
      ].join('\n\n')
    },
    linkedNotice: (requester: PersonAddress, agent: string) =>
      `This address is now linked with ${show(requester)} for the agent ${agent}. If that was not you, send it "unlink ${show(requester)}" from here: somebody has read the code that was sent to you.`,
    linked: (target: PersonAddress) =>
      `Done: ${show(target)} is linked with this address. "linked" lists all, "unlink ${show(target)}" undoes it.`,
    unlinked: (otherAddress: PersonAddress) => `Done: ${show(otherAddress)} is not linked with this address any more.`,
    list: (otherAddresses: readonly PersonAddress[]) =>
      otherAddresses.length === 0
        ? 'No other address is linked with this one.'
        : `Linked with this address: ${otherAddresses.map(show).join(', ')}.`,
  }
}

const refusalTexts: Readonly<Record<LinkRefusal, string>> = {
  linked: 'That address is linked with this one already.',
  full: `No person has more than ${linkLimits.maxAddresses} addresses here.`,
  asked_too_often: 'You have asked for many codes. Try again later.',
  sent_too_often: 'Many codes have gone to that address. Try again tomorrow.',
}
