/**
 * Faults of the address itself, by RFC 3463: nobody there, nobody there any more, no such host. What a server refuses for its content, its size or
 * its policy is over for this mail, and says nothing about the next; nor does one that says no more than that it failed (`5.0.0`).
 */
export function isDeadAddress(status: string): boolean {
  return /^5\.(?:1\.(?:0|1|2|3|6|10)|2\.1|4\.4)$/.test(status)
}
