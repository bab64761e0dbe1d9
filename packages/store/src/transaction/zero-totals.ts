// Formats the SQL that deletes totals that have become zero.
/**
 * Formats the DELETE of all shards of one owner if their sum is zero. Use it only in operations that run while no other transaction writes, because
 * another gateway may be changing its shard.
 */
export function formatZeroTotalDeletion(table: string, columns: readonly string[]): string {
  const nonZeroCondition = columns.map(column => `sum(${column}) <> 0`).join(' OR ')
  return `DELETE FROM ${table} WHERE owner = ?1
    AND NOT EXISTS (SELECT 1 FROM ${table} WHERE owner = ?1 GROUP BY owner HAVING ${nonZeroCondition})`
}
