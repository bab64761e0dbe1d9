import type { AddressDirectMessage } from '../actions/direct-message.ts'
import { planDirectMessage } from '../actions/direct-message.ts'
import { Rejection, Unavailable, Undeliverable } from '../format/errors.ts'
import { parseAddress } from '../message/address/address.ts'
import type { PartialResponse } from '../message/response.ts'
import type { RunningAgent, TurnContext } from '../ports/agent/turn-context.ts'
import type { Channel } from '../ports/channel.ts'
import { randomHex } from '../ports/platform/platform.ts'
import type { LinkRequest, PersonAddress, PersonIdentity } from '../ports/records/people.ts'
import type { PlannedAction, Turn } from '../ports/records/work.ts'
import { formatCode } from './person-code.ts'
import type { PersonCommand } from './person-commands.ts'
import { readPersonCommand } from './person-commands.ts'
import { readPersonAddress, readPersonIdentity, showPersonAddress } from './person-identity.ts'
import { personTexts, refusalTexts } from './person-texts.ts'
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
 * Answers a message that is a command, where the agent's configuration allows it and its sender is proven to be who he says; undefined: it is
 * for the agent. What it changes is durable before it is answered, and done once however often the turn is run.
 */
export async function answerCommand(
  turn: Turn,
  turnContext: TurnContext,
  { people }: Pick<RunningAgent, 'people'>,
): Promise<CommandAnswer | undefined> {
  const command = people?.link && turnContext.people ? readPersonCommand(turn.content) : undefined
  const identity = command && readPersonIdentity(turn.content, turn.flags)
  if (!command || !identity) return undefined
  const asking = { turn, identity, turnContext }
  if (await isAlone(turn, identity, turnContext)) return handlers[command.name](command as never, asking)
  // Where it can only be answered before others, it is not answered at all.
  return turn.content.received_via === 'activitypub' && command.name !== 'confirm'
    ? says(personTexts.inPrivate())
    : undefined
}

function says(content: string, acts: readonly PlannedAction[] = []): CommandAnswer {
  return {
    partial: { parts: [{ kind: 'text', mime: 'text/plain', content }], visibility: 'direct', mentions: [] },
    acts,
  }
}

async function askForLink(text: string, { turn, identity, turnContext }: Asking): Promise<CommandAnswer> {
  const named = readPersonAddress(text, ownDomain(turn))
  const problem = named ? findProblem(named, identity, turn, turnContext) : personTexts.noAddress()
  if (!named || problem) return says(problem ?? personTexts.noAddress())
  const target = await proveTarget(named, turnContext)
  if (!target) return says(personTexts.nobody())
  const { agent, message } = turn
  const code = deriveCode({ agent, message, asker: identity, target }, turnContext)
  const notice = randomHex(turnContext.platform, 16)
  const digest = digestCode(code, agent, turnContext)
  const asked = await turnContext.store.requestLink({ agent, asker: identity, target, message, digest, notice })
  if (asked.outcome === 'refused') return says(refusalTexts[asked.reason])
  const act = planNotice(
    { target, text: personTexts.notice(identity, turn.content.recipient, code), id: asked.notice },
    turn,
    turnContext,
  )
  return act ? says(personTexts.sent(target), [act]) : says(personTexts.noWay())
}

/** Who has the address now, so that nobody else is taken for him later; undefined when that cannot be told. */
async function proveTarget(target: PersonAddress, { findChannel }: TurnContext): Promise<PersonAddress | undefined> {
  if (target.subject !== undefined) return target
  try {
    const subject = await findChannel(target.via)?.findPrincipal?.(target.address)
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
  { findAgent, findChannel }: TurnContext,
): string | undefined {
  if (target.via === via && target.address === address) return personTexts.own()
  if (target.via === 'web') return personTexts.fromChat()
  const { local, domain } = parseAddress(target.address)
  const isOurs = domain === ownDomain(turn)
  if (isOurs && (target.via === 'activitypub' || findAgent(local.split('+')[0] ?? local))) return personTexts.agent()
  return findWay(findChannel(target.via)) ? undefined : personTexts.noWay()
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
  { findChannel, platform }: TurnContext,
): PlannedAction | undefined {
  const { via, address: to } = target
  const subject = via === 'email' ? `Linking ${showPersonAddress(target)}` : undefined
  const parts = [{ kind: 'text', mime: 'text/plain', content: text }] as const
  const address = findWay(findChannel(via))
  return address && planDirectMessage({ id, via, to, parts, subject, flag: 'link_notice' }, turn, address, platform)
}

async function confirmCode(
  code: string,
  isBare: boolean,
  { turn, identity, turnContext }: Asking,
): Promise<CommandAnswer | undefined> {
  const { agent, message } = turn
  const { store } = turnContext
  const digest = digestCode(code, agent, turnContext)
  const notice = randomHex(turnContext.platform, 16)
  const confirmed = await store.confirmLink({ agent, asker: identity, message, digest, notice })
  if (confirmed.outcome === 'none') return isBare ? undefined : says(personTexts.none())
  if (confirmed.outcome === 'full') return says(refusalTexts.full)
  if (confirmed.outcome === 'wrong') return says(personTexts.wrong(confirmed.triesLeft))
  const { target } = confirmed
  // Who did not send the code back himself learns of it.
  const told = { target, text: personTexts.linkedNotice(identity, turn.content.recipient), id: confirmed.notice }
  const act = planNotice(told, turn, turnContext)
  return says(personTexts.linked(target), act ? [act] : [])
}

async function endLink(text: string, { turn, identity, turnContext }: Asking): Promise<CommandAnswer> {
  const other = readPersonAddress(text, ownDomain(turn))
  const isDone = other && (await turnContext.store.unlink(turn.agent, identity, other))
  return says(isDone ? personTexts.unlinked(other) : personTexts.notLinked())
}

async function listLinked({ turn, identity, turnContext }: Asking): Promise<CommandAnswer> {
  const person = await turnContext.store.findPerson(turn.agent, identity)
  const others = person?.addresses.filter(({ via, address }) => via !== identity.via || address !== identity.address)
  return says(personTexts.list(others ?? []))
}

async function forgetAsker({ turn, identity, turnContext }: Asking): Promise<CommandAnswer> {
  const forgetting = { agent: turn.agent, addresses: [identity], except: turn.message }
  const { messages } = await turnContext.store.forgetPerson(forgetting)
  return says(personTexts.forgotten(messages))
}
