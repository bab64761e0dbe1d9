import { Rejection } from '@postern/core'
import type { WebDeps } from '../deps.ts'

/** @throws Rejection no_recipient */
export function readAddressedAgent(named: string | undefined, { gateway }: Pick<WebDeps, 'gateway'>): string {
  const name = named ?? gateway.agents.defaultAgent
  const agent = name === undefined ? undefined : gateway.agents.find(name)
  if (!agent) throw new Rejection('no_recipient', 'Cannot run: there is no such agent')
  return agent.name
}
