// Records links and their ends, and reports them together with its key of the sender.
import type { NormalizedMessage } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

const seenEvents: unknown[] = []

export async function handle(
  { kind, person_change, received_via }: NormalizedMessage,
  { person, isPublic }: AgentContext,
): Promise<string | undefined> {
  if (kind === 'link' || kind === 'unlink') {
    seenEvents.push({ kind, id: person?.id, ...person_change })
    return undefined
  }
  const seenPerson = { id: person?.id, addresses: person?.addresses, isPublic: await isPublic() }
  // The answer is in hexadecimal, because a post is short and no channel turns hexadecimal digits into markup.
  return Buffer.from(
    JSON.stringify(received_via === 'email' ? { ...seenPerson, receivedNotices: seenEvents } : seenPerson),
  ).toString('hex')
}
