import type { Platform, WhyStore } from '@postern/core'

interface RunNotesDeps {
  readonly store: Pick<WhyStore, 'noteGatewayRun'>
  /** The name of this process. */
  readonly holder: string
  readonly platform: Pick<Platform, 'log'>
}

/** How often a gateway writes down that it still runs. */
const everyMs = 60_000

/**
 * The store knows when gateways ran, so it can tell that a message came late because none did. It is a hint: the gateway runs on when it
 * cannot be written. @returns what ends the run
 */
export async function startRunNotes({ store, holder, platform }: RunNotesDeps): Promise<() => Promise<void>> {
  const note = (stage: Parameters<WhyStore['noteGatewayRun']>[1]) =>
    store
      .noteGatewayRun(holder, stage)
      .catch(error => platform.log.warn({ err: error }, 'cannot note that the gateway runs'))
  await note('begins')
  const timer = setInterval(() => void note('runs'), everyMs).unref()
  return () => {
    clearInterval(timer)
    return note('ends')
  }
}
