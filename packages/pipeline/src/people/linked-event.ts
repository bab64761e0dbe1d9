// Creates the message of kind `link` or `unlink` that informs an agent about linked addresses.
import type { Channel } from '../ports/channel/channel.ts'
import type { Intake } from '../ports/records/intake.ts'
import type { Person, PersonIdentity } from '../ports/records/people/person.ts'
import type { DescribeLinkedChange, LinkedChange } from '../ports/records/people/person-link.ts'
import type { Turn } from '../ports/records/work/turn.ts'
import type { KnownConversation } from '../ports/store/lookup-store.ts'
import { showPersonAddress } from './person-identity.ts'
import { showPerson } from './person-key.ts'

interface LinkedCommand {
  /** The turn of the command that links or unlinks. */
  readonly turn: Pick<Turn, 'agent' | 'message' | 'content' | 'target' | 'flags' | 'thread' | 'via'>
  readonly identity: PersonIdentity
  readonly conversation: KnownConversation
  readonly channels: readonly Pick<Channel, 'descriptor'>[]
  /** ISO 8601 UTC. */
  readonly at: string
}

/**
 * Creates the function that describes a change as a message of the person who gave the command, in their conversation, so that an answer reaches
 * them. It describes no change of other persons, which happens if somebody else had the address before: their data does not belong there.
 */
export function createLinkedEvent(command: LinkedCommand): DescribeLinkedChange {
  return change => (isOf(change, command.identity) ? describeChange(change, command) : undefined)
}

function isOf({ before, after }: LinkedChange, { via, address, subject }: PersonIdentity): boolean {
  return [...before, ...after].some(({ addresses }) =>
    addresses.some(each => each.via === via && each.address === address && each.subject === subject),
  )
}

function describeChange(change: LinkedChange, { turn, conversation, channels, at }: LinkedCommand): Intake {
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
      parts: [{ kind: 'text', mime: 'text/plain', content: sayChange(change, channels) }],
      recipient_capabilities,
      received_via,
      received_at: at,
      kind: change.kind,
      person_change: { before: show(change.before), after: show(change.after) },
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

function sayChange({ kind, before, after }: LinkedChange, channels: LinkedCommand['channels']): string {
  const parted = (kind === 'link' ? before : after).map(({ addresses }) =>
    addresses.map(address => showPersonAddress(address, channels)).join(', '),
  )
  return kind === 'link' ? `Are one person now: ${parted.join('; ')}` : `Are one person no more: ${parted.join('; ')}`
}
