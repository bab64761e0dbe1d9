// Begins the run of a gateway on its store, unless the data belongs to another gateway.
import type { System } from '@postern/message'
import type { WhyStore } from '@postern/pipeline'
import type { PeopleForgetting } from '../storage/people-forgetting.ts'
import { describeSetup, toSetupError } from '../storage/run-setup.ts'

interface RunDeps {
  readonly store: Pick<WhyStore, 'beginGatewayRun' | 'noteGatewayRun'>
  /** The name of this process. */
  readonly holder: string
  readonly system: Pick<System, 'log'>
  readonly config: Parameters<typeof describeSetup>[0]
  readonly slices: Parameters<typeof describeSetup>[1]
  readonly forgetting: Pick<PeopleForgetting, 'applyList'>
}

interface RunOptions {
  /** True if the gateway reaches only simulated peers. */
  readonly isSimulating?: boolean | undefined
  /** True if the store may adopt the mode and the origin of this gateway. */
  readonly adopts?: boolean | undefined
}

/** The time between two records that the gateway still runs, ms. */
const recordIntervalMs = 60_000

/**
 * Begins a run before anything is delivered. The store records when gateways ran, so that it can explain a message that waited without one.
 * If the store accepts no writes, the gateway continues without deliveries.
 * @returns a function that ends the run.
 * @throws ConfigError if the data has another mode or origin, or if a gateway of another setup runs on it
 */
export async function beginRun(
  { store, holder, system, config, slices, forgetting }: RunDeps,
  { isSimulating = false, adopts }: RunOptions,
): Promise<() => Promise<void>> {
  const setup = describeSetup(config, slices, isSimulating ? 'simulation' : 'production')
  const warnOfRun = (error: unknown) => system.log.warn({ err: error }, 'cannot record that the gateway runs')
  const difference = await store.beginGatewayRun(holder, setup, { adopts }).catch(warnOfRun)
  if (difference) throw toSetupError(difference)
  // The list applies before any new message, so that it deletes only earlier data.
  const warnOfList = (error: unknown) =>
    system.log.error({ err: error }, 'the store still knows forgotten people; restart the gateway')
  await forgetting.applyList().catch(warnOfList)
  const timer = setInterval(() => void store.noteGatewayRun(holder, 'runs').catch(warnOfRun), recordIntervalMs).unref()
  return () => {
    clearInterval(timer)
    return store.noteGatewayRun(holder, 'ends').catch(warnOfRun)
  }
}
