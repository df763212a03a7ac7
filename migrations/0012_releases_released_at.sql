-- since 1.0: nothing reads when a position was released.
ALTER TABLE `releases` DROP COLUMN `released_at`;