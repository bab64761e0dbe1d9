import type { AgentProfile, ChannelContext } from '@postern/core'
import { A2aRejection } from '../format/errors.ts'

/** @throws A2aRejection `notFound` */
export function findAddressee(name: string | undefined, { agents }: Pick<ChannelContext, 'agents'>): AgentProfile {
  const agent = agents.find(name ?? agents.defaultAgent ?? '')
  if (!agent) throw new A2aRejection('notFound', 'Agent not found')
  return agent
}
