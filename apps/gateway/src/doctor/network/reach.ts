import type { DoctorDeps } from '../deps.ts'

/** Many checks of one run ask for it. */
const known = new WeakMap<DoctorDeps, Promise<boolean>>()

/** Whether anybody answers at the public address, whatever they say. */
export function canReachOrigin(deps: DoctorDeps): Promise<boolean> {
  const { config, outside } = deps
  const reach = () =>
    outside.fetch(`${config.origin}/healthz`, { timeoutMs: 6_000 }).then(
      () => true,
      () => false,
    )
  const reached = known.get(deps) ?? reach()
  known.set(deps, reached)
  return reached
}
