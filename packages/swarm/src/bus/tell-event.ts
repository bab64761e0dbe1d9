import type { BusEvent, BusSource } from './bus.ts'

/** Emits an event of a client, in the name of the active agent. */
export type TellEvent = (source: BusSource, type: string, told?: Partial<Pick<BusEvent, 'input' | 'output'>>) => void
