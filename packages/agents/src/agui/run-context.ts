// Describes the message and its sender for the `context` of a run.
import type { NormalizedMessage } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'
import { describePerson } from '../kind/person-data.ts'

/** Returns one entry with the sender, their proof, the recipient, the channel and the subject of a mail. The entry is data for the agent and no instruction. */
export async function describeRunContext(
  message: NormalizedMessage,
  context: Pick<AgentContext, 'flags' | 'person' | 'isPublic'>,
): Promise<readonly object[]> {
  const { sender, recipient, received_via } = message
  const { address, verified, auth_method, identities = [] } = sender
  const { person } = await describePerson(context)
  const is_public = await context.isPublic()
  const { flags = [] } = context
  const subject = { address, verified, auth_method, identities, person, recipient, subject: readSubject(message) }
  const value = JSON.stringify({ ...subject, received_via, is_public, flags })
  return [{ description: 'The sender of the last message, and how the gateway has proven them', value }]
}

/** Reads the subject of a mail, which is in a separate part. */
function readSubject({ parts }: NormalizedMessage): string | undefined {
  const mail: { readonly kind: string; readonly subject?: unknown } | undefined = parts.find(
    ({ kind }: { readonly kind: string }) => kind === 'email',
  )
  return typeof mail?.subject === 'string' ? mail.subject : undefined
}
