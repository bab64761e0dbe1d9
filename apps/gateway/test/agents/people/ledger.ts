import type { NormalizedMessage } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

const heard: unknown[] = []

/** Records links and their ends. Reports them, together with its key of the sender. */
export async function handle(
  { kind, person_change, received_via }: NormalizedMessage,
  { person, isPublic }: AgentContext,
): Promise<string | undefined> {
  if (kind === 'link' || kind === 'unlink') {
    heard.push({ kind, id: person?.id, ...person_change })
    return undefined
  }
  const told = { id: person?.id, addresses: person?.addresses, isPublic: await isPublic() }
  // The answer is in hexadecimal, because a post is short and no channel marks up anything in it.
  return Buffer.from(JSON.stringify(received_via === 'email' ? { ...told, heard } : told)).toString('hex')
}
