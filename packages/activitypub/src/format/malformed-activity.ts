// Creates the refusal of a malformed activity.
import { Rejection } from '@postern/message'

export function malformedActivity(problem: string): Rejection {
  return new Rejection('malformed', `Cannot read activity: ${problem}`)
}
