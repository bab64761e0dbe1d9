import type { AddressDirectMessage } from '../actions/direct-message.ts'
import { planDirectMessage } from '../actions/direct-message.ts'
import { Rejection, Unavailable, Undeliverable } from '../format/errors.ts'
import { parseAddress } from '../message/address/address.ts'
import type { PartialResponse } from '../message/response.ts'
import type { RunningAgent, TurnContext } from '../ports/agent/turn-context.ts'
import type { Channel } from '../ports/channel.ts'
import { findChannel } from '../ports/channel.ts'
import { makeId } from '../ports/platform/platform.ts'
import type { LinkRequest, PersonAddress, PersonIdentity } from '../ports/records/people.ts'
import type { PlannedAction, Turn } from '../ports/records/work.ts'
import { formatCode } from './person-code.ts'
import type { PersonCommand } from './person-commands.ts'
import { readPersonCommand } from './person-commands.ts'
import { findRules, readPersonAddress, readPersonIdentity, showPersonAddress } from './person-identity.ts'
import { createPersonTexts, personTexts, refusalTexts } from './person-texts.ts'
import { isAlone } from './person-turn.ts'

/** What the gateway itself says to a message that is a command. */
interface CommandAnswer {
  readonly partial: PartialResponse
  readonly acts: readonly PlannedAction[]
}

interface Asking {
  readonly turn: Turn
  readonly identity: PersonIdentity
  readonly turnContext: TurnContext
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
 * Answers a message that is a command, where the agent's configuration allows it and its sender is proven; undefined: it is
 * for the agent. What it changes is durable before it is answered, and done once however often the turn is run.
 */
export async function answerCommand(
  turn: Turn,
  turnContext: TurnContext,
  { people }: Pick<RunningAgent, 'people'>,
): Promise<CommandAnswer | undefined> {
  const command = people?.link && turnContext.people ? readPersonCommand(turn.content) : undefined
  const identity = command && readPersonIdentity(turn.content, turn.flags, turnContext.channels)
  if (!command || !identity) return undefined
  const asking = { turn, identity, turnContext }
  if (await isAlone(turn, identity, turnContext)) return handlers[command.name](command as never, asking)
  // Where it can only be answered before others, it is not answered at all.
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
  const named = readPersonAddress(text, turnContext.channels, ownDomain(turn))
  const problem = named ? findProblem(named, identity, turn, turnContext) : texts.noAddress()
  if (!named || problem) return says(problem ?? texts.noAddress())
  const target = await proveTarget(named, turnContext)
  if (!target) return says(personTexts.nobody())
  const { agent, message } = turn
  const code = deriveCode({ agent, message, asker: identity, target }, turnContext)
  const notice = makeId(turnContext.platform)
  const digest = digestCode(code, agent, turnContext)
  const asked = await turnContext.store.requestLink({ agent, asker: identity, target, message, digest, notice })
  if (asked.outcome === 'refused') return says(refusalTexts[asked.reason])
  const act = planNotice(
    { target, text: texts.notice(identity, turn.content.recipient, code), id: asked.notice },
    turn,
    turnContext,
  )
  return act ? says(texts.sent(target), [act]) : says(personTexts.noWay())
}

/** Who has the address now, so that nobody else is taken for them later; undefined when that cannot be told. */
async function proveTarget(target: PersonAddress, { channels }: TurnContext): Promise<PersonAddress | undefined> {
  if (target.subject !== undefined) return target
  try {
    const subject = await findChannel(channels, target.via)?.findPrincipal?.(target.address)
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

/** The same for the same request, so that a turn that is run again sends what was sent before. */
function deriveCode(
  { agent, message, asker, target }: Omit<LinkRequest, 'digest' | 'notice'>,
  { people }: TurnContext,
): string {
  const claim = ['code', agent, message, keyOf(asker), asker.subject, keyOf(target)].join('\n')
  return formatCode(people?.deriveBytes(claim) ?? new Uint8Array())
}

function digestCode(code: string, agent: string, { people }: TurnContext): string {
  return Array.from(people?.deriveBytes(['digest', agent, code].join('\n')) ?? [], byte =>
    byte.toString(16).padStart(2, '0'),
  ).join('')
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
  return channel?.addressNotice ?? channel?.addressAction
}

/** A message of the gateway's to an address that may never have written here. */
function planNotice(
  { target, text, id }: Notice,
  turn: Turn,
  { channels, platform }: TurnContext,
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
    platform,
  )
}

async function confirmCode(
  code: string,
  isBare: boolean,
  { turn, identity, turnContext }: Asking,
): Promise<CommandAnswer | undefined> {
  const { agent, message } = turn
  const { store } = turnContext
  const digest = digestCode(code, agent, turnContext)
  const notice = makeId(turnContext.platform)
  const confirmed = await store.confirmLink({ agent, asker: identity, message, digest, notice })
  if (confirmed.outcome === 'none') return isBare ? undefined : says(personTexts.none())
  if (confirmed.outcome === 'full') return says(refusalTexts.full)
  if (confirmed.outcome === 'wrong') return says(personTexts.wrong(confirmed.triesLeft))
  const { target } = confirmed
  // Whoever did not send the code back learns of it.
  const texts = createPersonTexts(turnContext.channels)
  const told = { target, text: texts.linkedNotice(identity, turn.content.recipient), id: confirmed.notice }
  const act = planNotice(told, turn, turnContext)
  return says(texts.linked(target), act ? [act] : [])
}

async function endLink(text: string, { turn, identity, turnContext }: Asking): Promise<CommandAnswer> {
  const other = readPersonAddress(text, turnContext.channels, ownDomain(turn))
  const isDone = other && (await turnContext.store.unlink(turn.agent, identity, other))
  return says(isDone ? createPersonTexts(turnContext.channels).unlinked(other) : personTexts.notLinked())
}

async function listLinked({ turn, identity, turnContext }: Asking): Promise<CommandAnswer> {
  const person = await turnContext.store.findPerson(turn.agent, identity)
  const others = person?.addresses.filter(({ via, address }) => via !== identity.via || address !== identity.address)
  return says(createPersonTexts(turnContext.channels).list(others ?? []))
}

async function forgetAsker({ turn, identity, turnContext }: Asking): Promise<CommandAnswer> {
  const forgetting = { agent: turn.agent, addresses: [identity], except: turn.message }
  const { messages } = await turnContext.store.forgetPerson(forgetting)
  return says(personTexts.forgotten(messages))
}
