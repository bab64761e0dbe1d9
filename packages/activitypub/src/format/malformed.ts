// Creates the refusal of a malformed activity.
import { Rejection } from '@postern/message'

export function malformed(problem: string): Rejection {
  return new Rejection('malformed', `Cannot read activity: ${problem}`)
}
