// Opens a gateway in production behind a proxy, and runs checks on it.
import type { CheckOutcome, DoctorReport } from '@postern/operator'
import type { TestGateway } from '../../setup/gateway.ts'
import { openTestGateway } from '../../setup/gateway.ts'
import type { ProxyFaults, TestProxy } from './proxy.ts'
import { openProxy } from './proxy.ts'

export const pageOrigin = 'https://shop.example'

/** A gateway in production, behind the proxy through which peers reach it. */
interface PublicGateway {
  readonly gateway: TestGateway
  readonly proxy: TestProxy
}

let pendingGateway: Promise<PublicGateway> | undefined

export function openPublicGateway(): Promise<PublicGateway> {
  pendingGateway ??= startPublicGateway()
  return pendingGateway
}

async function startPublicGateway(): Promise<PublicGateway> {
  const proxy = await openProxy()
  const gateway = await openTestGateway(({ network: { dns, loopback } }) => ({
    dev: false,
    network: { dns, loopback: { ...loopback, 'agents.test': proxy.port } },
    web: { enabled: true, origins: [pageOrigin] },
  }))
  proxy.setTarget(gateway.url())
  return { gateway, proxy }
}

export async function closePublicGateway(): Promise<void> {
  const publicGateway = await pendingGateway
  await publicGateway?.gateway.close()
  await publicGateway?.proxy.close()
  pendingGateway = undefined
}

/** Asks the operator's API for the outcome of one check, behind a proxy with these faults. */
export async function checkPublicGateway(id: string, faults: ProxyFaults = {}): Promise<readonly CheckOutcome[]> {
  const { gateway, proxy } = await openPublicGateway()
  proxy.setFaults(faults)
  const { findings } = await gateway.requestOperator<DoctorReport>(`/doctor?only=${id.split('.')[0]}`)
  return findings.filter(finding => finding.id === id)
}
