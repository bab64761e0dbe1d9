import type { AgentDirectory, ChannelContext } from '@postern/core'
import { randomHex } from '@postern/core'
import { recordSuppression } from './record.ts'

/** The operator's word. False where nothing is suppressed. */
export async function liftMailSuppression(
  { agent, peer }: { readonly agent: string; readonly peer: string },
  gateway: Pick<ChannelContext, 'admission' | 'store' | 'platform'> & { readonly agents: AgentDirectory },
): Promise<boolean> {
  const found = await gateway.store.findRelation({ via: 'email', agent, relation: 'suppressed', peer })
  if (!found) return false
  const id = `operator:${randomHex(gateway.platform, 16)}`
  const words = `The operator allows mail to ${peer} again.`
  const effect = { kind: 'unrelate', relation: 'suppressed', peer } as const
  await recordSuppression({ agent, id, words, flag: 'operator', effect }, gateway)
  return true
}
