import type { OperatorStore } from '@postern/core'
import type { GatewayStore } from '@postern/store'
import type { ThreadKey } from '@postern/transcript'

/** Whose the threads are that an operator opens over conversations of the store. */
const operatorOwner = 'operator'

/** The conversation that a message is part of, by its number or its id. */
export async function findMessageThread(
  name: string,
  { findMessage, transcript }: Pick<OperatorStore, 'findMessage'> & Pick<GatewayStore, 'transcript'>,
): Promise<ThreadKey | undefined> {
  const record = await findMessage(name)
  if (!record) return undefined
  const thread = await transcript.openThread(operatorOwner, { transport: 'desk', key: String(record.thread) })
  await transcript.bindStore(thread, record.thread)
  return thread
}
