/** For who tries things out, and sends the same words again and again. */
export const endlessBudgets = {
  correspondent_per_hour: 1_000_000,
  thread_per_hour: 1_000_000,
  thread_per_day: 1_000_000,
  rapid_per_hour: 1_000_000,
  repeats_per_hour: 1_000_000,
  unverified_per_day: 1_000_000,
  unverified_per_hour: 1_000_000,
  reply_all_per_hour: 1_000_000,
}
