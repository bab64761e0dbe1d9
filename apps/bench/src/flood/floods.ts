// Lists the floods during which honest deliveries are measured.
import type { Aim } from '../aims/rows.ts'
import { rows } from '../aims/rows.ts'
import type { FloodKind } from './requests.ts'

/** A flood, and its permitted cost. */
export interface FloodPlan {
  readonly kind: FloodKind
  /** The number of its posts for each honest one. */
  readonly times: number
  /** The aim of honest p99 in the server, compared with p99 without a flood. */
  readonly p99: Aim
  /** The aim of the CPU time of a refused post, compared with an accepted one. */
  readonly cost: Aim
}

export const floods: readonly FloodPlan[] = [
  { kind: 'unsigned', times: 5, p99: rows.p99BesideUnsigned, cost: rows.refusedUnsigned },
  { kind: 'forged', times: 10, p99: rows.p99BesideForged, cost: rows.refusedForged },
]
