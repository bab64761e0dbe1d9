// Creates the message of kind `link` or `unlink` that informs an agent about linked addresses.
import type { Channel } from '../ports/channel/channel.ts'
import type { Intake } from '../ports/records/intake.ts'
import type { Person, PersonIdentity } from '../ports/records/people/person.ts'
import type { LinkChange, RenderLinkChange } from '../ports/records/people/person-link.ts'
import type { Turn } from '../ports/records/work/turn.ts'
import type { AgentConversation } from '../ports/store/lookup-store.ts'
import { showPersonAddress } from './person-identity.ts'
import { showPerson } from './person-key.ts'

interface LinkChangeContext {
  /** The turn of the command that links or unlinks. */
  readonly turn: Pick<Turn, 'agent' | 'message' | 'content' | 'target' | 'flags' | 'thread' | 'via'>
  readonly identity: PersonIdentity
  readonly conversation: AgentConversation
  readonly channels: readonly Pick<Channel, 'descriptor'>[]
  /** ISO 8601 UTC. */
  readonly at: string
}

/**
 * Creates the function that describes a change as a message of the person who gave the command, in their conversation, so that an answer reaches
 * them. It does not describe changes of other persons, for example of an earlier owner of the address, because their data does not belong in this conversation.
 */
export function createLinkChangeRenderer(command: LinkChangeContext): RenderLinkChange {
  return change => (concernsPerson(change, command.identity) ? describeChange(change, command) : undefined)
}

function concernsPerson(
  { personsBefore: before, personsAfter: after }: LinkChange,
  { via, address, subject }: PersonIdentity,
): boolean {
  return [...before, ...after].some(({ addresses }) =>
    addresses.some(linked => linked.via === via && linked.address === address && linked.subject === subject),
  )
}

function describeChange(change: LinkChange, { turn, conversation, channels, at }: LinkChangeContext): Intake {
  const { agent, message, content, target, flags, thread, via } = turn
  const { scope, key, author } = conversation
  const { sender, recipient, recipient_capabilities, received_via } = content
  const id = `urn:postern:${change.kind}:${agent}:${message}`
  const show = (persons: readonly Person[]) => persons.map(person => showPerson(agent, person))
  return {
    agent,
    message: {
      id,
      thread_source: key,
      sender,
      recipient,
      parts: [{ kind: 'text', mime: 'text/plain', content: describeChangeText(change, channels) }],
      recipient_capabilities,
      received_via,
      received_at: at,
      kind: change.kind,
      person_change: { before: show(change.personsBefore), after: show(change.personsAfter) },
    },
    duplicateKey: id,
    thread: { scope, references: [], joined: { id: thread, via, key } },
    // The message is deleted when its author is forgotten.
    ...(author !== undefined && { authorship: { author, object: id } }),
    aliases: [],
    proofs: [],
    raw: { bytes: new Uint8Array(), form: 'text' },
    target,
    disposition: 'answer',
    flags: [...flags],
  }
}

function describeChangeText(
  { kind, personsBefore: before, personsAfter: after }: LinkChange,
  channels: LinkChangeContext['channels'],
): string {
  const people = (kind === 'link' ? before : after).map(({ addresses }) =>
    addresses.map(address => showPersonAddress(address, channels)).join(', '),
  )
  return kind === 'link' ? `Are one person now: ${people.join('; ')}` : `Are one person no more: ${people.join('; ')}`
}
