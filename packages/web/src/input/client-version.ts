import type { RunAgentInput } from '@ag-ui/core'

/** Whether it is a client of AG-UI 0.0.x. Clients name their version from 1.0 on. */
export function isEarlierClient({ protocolVersion = '' }: Pick<RunAgentInput, 'protocolVersion'>): boolean {
  return !/^[1-9]\d*(\.|$)/.test(protocolVersion)
}
