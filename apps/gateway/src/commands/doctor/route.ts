import type { OperatorRoute } from '../../api/operation.ts'
import { handleOperation } from '../../api/operation.ts'
import type { CheckGroup } from '../../doctor/check.ts'
import type { DoctorDeps } from '../../doctor/deps.ts'
import type { DoctorReport } from '../../doctor/run-checks.ts'
import type { UnknownProxies } from '../../http/unknown-proxies.ts'
import { readCheckGroups } from './groups.ts'
import { doctorOperations, proxyOperations } from './operations.ts'

/** The findings of `postern doctor`. Who asks while a run is under way gets its report: a run sends requests and one mail to ourselves. */
export function createDoctorRoutes(openDeps: () => DoctorDeps): readonly OperatorRoute[] {
  const running = new Map<string, Promise<DoctorReport>>()

  /** The checks are loaded when somebody asks for the first time. */
  async function run(groups: readonly CheckGroup[]): Promise<DoctorReport> {
    const { runChecks } = await import('../../doctor/run-checks.ts')
    return runChecks(openDeps(), groups)
  }

  function runOnce(groups: readonly CheckGroup[]): Promise<DoctorReport> {
    const key = groups.join()
    const report = running.get(key) ?? run(groups).finally(() => running.delete(key))
    running.set(key, report)
    return report
  }

  return [
    handleOperation(doctorOperations.run, async ({ query }) => {
      const { findings, ...report } = await runOnce(readCheckGroups(query.only))
      return { ...report, findings: [...findings] }
    }),
  ]
}

/** Which private peers pass forwarded requests on without being trusted. */
export function createProxyRoutes(proxies: Pick<UnknownProxies, 'list'>): readonly OperatorRoute[] {
  return [handleOperation(proxyOperations.list, async () => ({ unknown: proxies.list() }))]
}
