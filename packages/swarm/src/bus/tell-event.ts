import type { BusEvent, BusSource } from './bus.ts'

/** Tells of a client, in the name of whoever is active. */
export type TellEvent = (source: BusSource, type: string, told?: Partial<Pick<BusEvent, 'input' | 'output'>>) => void
