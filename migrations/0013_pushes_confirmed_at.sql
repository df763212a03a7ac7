-- since 1.0: nothing reads when the receiver last confirmed.
ALTER TABLE `pushes` DROP COLUMN `confirmed_at`;