// Opens a gateway in production behind a proxy, and runs checks on it.
import type { CheckOutcome, DoctorReport } from '@postern/operator'
import type { TestGateway } from '../../setup/gateway.ts'
import { openTestGateway } from '../../setup/gateway.ts'
import type { ProxyHabits, TestProxy } from './proxy.ts'
import { openProxy } from './proxy.ts'

export const pageOrigin = 'https://shop.example'

/** A gateway in production, behind a proxy that peers reach it through. */
interface PublicGateway {
  readonly test: TestGateway
  readonly proxy: TestProxy
}

let pendingGateway: Promise<PublicGateway> | undefined

export function openPublic(): Promise<PublicGateway> {
  pendingGateway ??= open()
  return pendingGateway
}

async function open(): Promise<PublicGateway> {
  const proxy = await openProxy()
  const test = await openTestGateway(({ network: { dns, loopback } }) => ({
    dev: false,
    network: { dns, loopback: { ...loopback, 'agents.test': proxy.port } },
    web: { enabled: true, origins: [pageOrigin] },
  }))
  proxy.setTarget(test.url())
  return { test, proxy }
}

export async function closePublic(): Promise<void> {
  const gateway = await pendingGateway
  await gateway?.test.close()
  await gateway?.proxy.close()
  pendingGateway = undefined
}

/** Asks the operator's API for the outcome of one check, behind a proxy with these habits. */
export async function askPublic(id: string, habits: ProxyHabits = {}): Promise<readonly CheckOutcome[]> {
  const { test, proxy } = await openPublic()
  proxy.behave(habits)
  const { findings } = await test.requestOperator<DoctorReport>(`/doctor?only=${id.split('.')[0]}`)
  return findings.filter(finding => finding.id === id)
}
