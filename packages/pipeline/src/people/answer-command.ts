// Answers the messages by which people link addresses, end a link, or ask the gateway to forget them.
import type { PartialResponse } from '@postern/message'
import { isoTime, makeId, parseAddress, Rejection, Unavailable, Undeliverable } from '@postern/message'
import type { AddressDirectMessage } from '../actions/direct-message.ts'
import { planDirectMessage } from '../actions/direct-message.ts'
import type { Channel } from '../ports/channel/channel.ts'
import { findChannel } from '../ports/channel/channel.ts'
import type { PersonAddress, PersonIdentity } from '../ports/records/people/person.ts'
import type { LinkedChange, LinkedEvents, LinkRefusal, LinkRequest } from '../ports/records/people/person-link.ts'
import { linkLimits } from '../ports/records/people/person-link.ts'
import type { PlannedAction } from '../ports/records/work/answer.ts'
import type { Turn } from '../ports/records/work/turn.ts'
import type { RunningAgent } from '../ports/turn/running-agent.ts'
import type { TurnContext } from '../ports/turn/turn-context.ts'
import { formatCode } from './link-code.ts'
import { createLinkedEvent } from './linked-event.ts'
import type { PersonCommand } from './person-commands.ts'
import { readPersonCommand } from './person-commands.ts'
import { findRules, readPersonAddress, readPersonIdentity, showPersonAddress } from './person-identity.ts'
import { isAlone } from './person-turn.ts'

/** The gateway's own answer to a command. */
interface CommandAnswer {
  readonly partial: PartialResponse
  readonly acts: readonly PlannedAction[]
}

interface Asking {
  readonly turn: Turn
  readonly identity: PersonIdentity
  readonly turnContext: TurnContext
  readonly receives: RunningAgent['receives']
}

/** Plans the messages that inform the agent of a link or its end; undefined if its configuration does not ask for them. */
async function planLinkedEvents(
  kind: LinkedChange['kind'],
  { turn, identity, turnContext, receives }: Asking,
): Promise<LinkedEvents | undefined> {
  if (!receives?.includes(kind)) return undefined
  const { store, channels, system } = turnContext
  const conversation = await store.findConversation(turn.agent, turn.content.thread_id)
  if (!conversation) return undefined
  const describe = createLinkedEvent({ turn, identity, conversation, channels, at: isoTime(system.now()) })
  return { describe, correlationId: turn.correlationId }
}

type Handlers = {
  readonly [Name in PersonCommand['name']]: (
    command: Extract<PersonCommand, { name: Name }>,
    asking: Asking,
  ) => Promise<CommandAnswer | undefined>
}

const handlers: Handlers = {
  link: ({ address }, asking) => askForLink(address, asking),
  confirm: ({ code, isBare }, asking) => confirmCode(code, isBare, asking),
  unlink: ({ address }, asking) => endLink(address, asking),
  linked: (_, asking) => listLinked(asking),
  forget: (_, asking) => forgetAsker(asking),
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
  const asking = { turn, identity, turnContext, receives }
  if (await isAlone(turn, identity, turnContext)) return handlers[command.name](command as never, asking)
  // Others read this conversation, so the gateway answers only on channels that can reach the author alone.
  const rules = findRules(turnContext.channels, turn.content.received_via)
  return rules?.answersInPrivate && command.name !== 'confirm' ? says(personTexts.inPrivate()) : undefined
}

function says(content: string, acts: readonly PlannedAction[] = []): CommandAnswer {
  return {
    partial: { parts: [{ kind: 'text', mime: 'text/plain', content }], visibility: 'direct', mentions: [] },
    acts,
  }
}

async function askForLink(text: string, { turn, identity, turnContext }: Asking): Promise<CommandAnswer> {
  const texts = createPersonTexts(turnContext.channels)
  const otherAddress = readPersonAddress(text, turnContext.channels, ownDomain(turn))
  const problem = otherAddress ? findProblem(otherAddress, identity, turn, turnContext) : texts.noAddress()
  if (!otherAddress || problem) return says(problem ?? texts.noAddress())
  const target = await proveTarget(otherAddress, turnContext)
  if (!target) return says(personTexts.nobody())
  const { agent, message } = turn
  const code = deriveCode({ agent, message, asker: identity, target }, turnContext)
  const notice = makeId(turnContext.system)
  const [digest] = digestCode(code, agent, turnContext)
  const asked = await turnContext.store.requestLink({ agent, asker: identity, target, message, digest, notice })
  if (asked.outcome === 'refused') return says(refusalTexts[asked.reason])
  const act = planNotice(
    { target, text: texts.notice(identity, turn.content.recipient, code), id: asked.notice },
    turn,
    turnContext,
  )
  return act ? says(texts.sent(target), [act]) : says(personTexts.noWay())
}

/** Finds the principal who has the address now, so that a later owner is not mistaken for them; undefined if there is none or it cannot be found. */
async function proveTarget(target: PersonAddress, { channels }: TurnContext): Promise<PersonAddress | undefined> {
  if (target.subject !== undefined) return target
  try {
    const subject = await findChannel(channels, target.via)?.peers?.findPrincipal?.(target.address)
    return subject === undefined ? undefined : { ...target, subject }
  } catch (error) {
    const isTheirs = error instanceof Unavailable || error instanceof Undeliverable || error instanceof Rejection
    if (isTheirs) return undefined
    throw error
  }
}

function findProblem(
  target: PersonAddress,
  { via, address }: PersonIdentity,
  turn: Turn,
  { findAgent, channels }: TurnContext,
): string | undefined {
  if (target.via === via && target.address === address) return personTexts.own()
  const channel = findChannel(channels, target.via)
  const rules = channel?.descriptor.speaker
  if (rules?.isChat) return personTexts.fromChat()
  const { local, domain } = parseAddress(target.address)
  const isOurs = domain === ownDomain(turn)
  if (isOurs && (rules?.ownsDomain || findAgent(local.split('+')[0] ?? local))) return personTexts.agent()
  return findWay(channel) ? undefined : personTexts.noWay()
}

function ownDomain({ content }: Turn): string {
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
  const [first = '', ...former] = (people?.deriveBytes(['digest', agent, code].join('\n')) ?? []).map(formatHex)
  return [first, ...former]
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

function findWay(channel: Channel | undefined): AddressDirectMessage | undefined {
  return channel?.actions?.addressNotice ?? channel?.actions?.address
}

/** Plans a message of the gateway to an address that may never have written here. */
function planNotice(
  { target, text, id }: Notice,
  turn: Turn,
  { channels, system }: TurnContext,
): PlannedAction | undefined {
  const channel = findChannel(channels, target.via)
  const address = findWay(channel)
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

async function confirmCode(code: string, isBare: boolean, asking: Asking): Promise<CommandAnswer | undefined> {
  const { turn, identity, turnContext } = asking
  const { agent, message } = turn
  const { store } = turnContext
  const [digest, ...formerDigests] = digestCode(code, agent, turnContext)
  const notice = makeId(turnContext.system)
  const events = await planLinkedEvents('link', asking)
  const confirmed = await store.confirmLink({ agent, asker: identity, message, digest, formerDigests, notice, events })
  if (confirmed.outcome === 'none') return isBare ? undefined : says(personTexts.none())
  if (confirmed.outcome === 'full') return says(refusalTexts.full)
  if (confirmed.outcome === 'wrong') return says(personTexts.wrong(confirmed.triesLeft))
  const { target } = confirmed
  // The person at the other address gets a notice, because somebody else may have read their code.
  const texts = createPersonTexts(turnContext.channels)
  const told = { target, text: texts.linkedNotice(identity, turn.content.recipient), id: confirmed.notice }
  const act = planNotice(told, turn, turnContext)
  return says(texts.linked(target), act ? [act] : [])
}

async function endLink(text: string, asking: Asking): Promise<CommandAnswer> {
  const { turn, identity, turnContext } = asking
  const other = readPersonAddress(text, turnContext.channels, ownDomain(turn))
  const { agent } = turn
  const events = await planLinkedEvents('unlink', asking)
  const isDone = other && (await turnContext.store.unlink({ agent, identity, other, events }))
  return says(isDone ? createPersonTexts(turnContext.channels).unlinked(other) : personTexts.notLinked())
}

async function listLinked({ turn, identity, turnContext }: Asking): Promise<CommandAnswer> {
  const person = await turnContext.store.findPerson(turn.agent, identity)
  const otherAddresses = person?.addresses.filter(
    ({ via, address }) => via !== identity.via || address !== identity.address,
  )
  return says(createPersonTexts(turnContext.channels).list(otherAddresses ?? []))
}

async function forgetAsker({ turn, identity, turnContext }: Asking): Promise<CommandAnswer> {
  const forgetting = { agent: turn.agent, addresses: [identity], except: turn.message, isOwn: true }
  const { messages, unreachable } = await turnContext.store.forgetPerson(forgetting)
  const files = unreachable.length
  const said = personTexts.forgotten(messages)
  if (files === 0) return says(said)
  turnContext.system.log.error({ agent: turn.agent, files }, 'files of a forgotten person could not be deleted')
  return says(`${said} ${personTexts.leftFiles(files)}`)
}

const minutes = linkLimits.codeMs / 60_000

/** The texts that the gateway sends in an agent's name. None of them contains text that somebody wrote freely. */
const personTexts = {
  inPrivate: () => 'Ask me this in a direct message, where nobody else reads along.',
  nobody: () => 'I find nobody at that address, or its server does not answer now.',
  own: () => 'You are writing from that address already.',
  agent: () => 'That is the address of an agent, not of a person.',
  fromChat: () => 'Nothing can be sent to a chat. Ask there: write "link" and this address in the chat.',
  noWay: () => 'I have no way to send a code there.',
  wrong: (left: number) =>
    left > 0
      ? `That is not the code, or its time is over. ${left} more ${left === 1 ? 'try' : 'tries'}.`
      : 'That is not the code, and there are no more tries. Ask for another one with "link".',
  none: () => 'There is no code to wait for. Ask for one with "link" and the other address.',
  notLinked: () => 'That address is not linked with this one.',
  forgotten: (messages: number) =>
    `Done: what you wrote to me and what I answered is deleted (${messages} ${messages === 1 ? 'message' : 'messages'}), and so is every link. Only this last exchange is left.`,
  leftFiles: (files: number) =>
    `${files} of your files could not be deleted. The operator of this gateway knows of it and has to delete them.`,
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
    notice(asker: PersonAddress, agent: string, code: string) {
      const isChat = findRules(channels, asker.via)?.isChat === true
      const where = isChat ? 'write this in the chat where you asked,' : `send this to the agent from ${show(asker)}`
      return [
        `${show(asker)} says that this address belongs to the same person, and asks the agent ${agent} to link both.`,
        `If that was you, ${where} within ${minutes} minutes:`,
        `confirm ${code}`,
        'If it was not you, do nothing, and give the code to nobody: without it nothing happens.',
      ].join('\n\n')
    },
    linkedNotice: (asker: PersonAddress, agent: string) =>
      `This address is now linked with ${show(asker)} for the agent ${agent}. If that was not you, send it "unlink ${show(asker)}" from here: somebody has read the code that was sent to you.`,
    linked: (target: PersonAddress) =>
      `Done: ${show(target)} is linked with this address. "linked" lists all, "unlink ${show(target)}" undoes it.`,
    unlinked: (other: PersonAddress) => `Done: ${show(other)} is not linked with this address any more.`,
    list: (otherAddresses: readonly PersonAddress[]) =>
      otherAddresses.length === 0
        ? 'No other address is linked with this one.'
        : `Linked with this address: ${otherAddresses.map(show).join(', ')}.`,
  }
}

const refusalTexts: Readonly<Record<LinkRefusal, string>> = {
  linked: 'That address is linked with this one already.',
  full: `No person has more than ${linkLimits.addresses} addresses here.`,
  asked_too_often: 'You have asked for many codes. Try again later.',
  sent_too_often: 'Many codes have gone to that address. Try again tomorrow.',
}
