import type { AgentProfile, ChannelContext } from '@postern/core'
import { A2aRejection } from '../format/errors.ts'

const agentName = /^[a-z0-9._-]{1,64}$/

/** @throws A2aRejection `notFound` */
export function findAddressee(name: string | undefined, { agents }: Pick<ChannelContext, 'agents'>): AgentProfile {
  const wanted = name ?? agents.defaultAgent ?? ''
  const agent = agentName.test(wanted) ? agents.find(wanted) : undefined
  if (!agent) throw new A2aRejection('notFound', 'Agent not found')
  return agent
}
